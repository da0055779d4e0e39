-- SPDX-License-Identifier: Apache-2.0
local function handle()
  local text = string.rep("a", 30)
  string.find(text, string.rep("a?", 24) .. string.rep("a", 29) .. "b") -- FREEZE handle
end

local poll, read = require("posix.poll").rpoll, require("posix.unistd").read
while poll(0, -1) == 1 do
  local text = read(0, 100)
  if text == "" then break end
  if text:find("freeze") then handle() end
end
