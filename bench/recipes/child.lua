-- SPDX-License-Identifier: Apache-2.0
local function handle()
  os.execute("sleep 1") -- FREEZE handle
end

local poll, read = require("posix.poll").rpoll, require("posix.unistd").read
while poll(0, -1) == 1 do
  local text = read(0, 100)
  if text == "" then break end
  if text:find("freeze") then handle() end
end
