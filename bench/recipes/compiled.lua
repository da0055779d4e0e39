-- SPDX-License-Identifier: Apache-2.0
local function handle()
  local finish = os.clock() + 1
  local total = 0
  while os.clock() < finish do
    for i = 1, 1e6 do if i % 3 == 0 then total = total + i elseif i % 7 == 0 then total = total - 2 end end -- FREEZE handle
  end
end

local socket = require("socket")
local input = { getfd = function() return 0 end, dirty = function() return false end }
while true do
  socket.select({ input }, nil)
  local line = io.read()
  if line == nil then break end
  if line == "freeze" then handle() end
end
