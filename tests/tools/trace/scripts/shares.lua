-- SPDX-License-Identifier: Apache-2.0
-- Two functions that share the processor 1 to 3. Prints heavy's share of the time.
local function light()
  local total = 0
  for i = 1, 20000 do total = total + i * i % 7 end
  return total
end

local function heavy()
  local total = 0
  for i = 1, 60000 do total = total + i * i % 7 end
  return total
end

local seconds, light_s, heavy_s = tonumber(arg[1]), 0, 0
while light_s + heavy_s < seconds do
  local begin = os.clock()
  light()
  local middle = os.clock()
  heavy()
  light_s, heavy_s = light_s + middle - begin, heavy_s + os.clock() - middle
end
print(heavy_s / (light_s + heavy_s))
