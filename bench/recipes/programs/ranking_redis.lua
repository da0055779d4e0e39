-- SPDX-License-Identifier: Apache-2.0
-- A script of redis that counts in a loop of its own.
local function rank(limit)
  local total = 0
  for i = 1, limit do total = (total + i * i) % 1000003 end -- FREEZE rank
  return total
end

local total = rank(tonumber(ARGV[1]))
return total
