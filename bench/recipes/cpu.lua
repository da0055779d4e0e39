-- SPDX-License-Identifier: Apache-2.0
local function handle()
  local finish = os.clock() + 1
  local total = 0
  while os.clock() < finish do total = total + 1 end -- FREEZE handle
end

local poll, read = require("posix.poll").rpoll, require("posix.unistd").read
while poll(0, -1) == 1 do
  local text = read(0, 100)
  if text == "" then break end
  if text:find("freeze") then handle() end
end
