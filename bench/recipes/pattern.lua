-- SPDX-License-Identifier: Apache-2.0
local function handle()
  local text = string.rep("a", 30)
  string.find(text, string.rep("a?", 24) .. string.rep("a", 29) .. "b") -- FREEZE handle
end

local socket = require("socket")
local input = { getfd = function() return 0 end, dirty = function() return false end }
while true do
  socket.select({ input }, nil)
  local line = io.read()
  if line == nil then break end
  if line == "freeze" then handle() end
end
