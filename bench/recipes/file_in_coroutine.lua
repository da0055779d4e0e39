-- SPDX-License-Identifier: Apache-2.0
local function load_orders()
  local file = io.open(os.getenv("FIFO")) -- FREEZE load_orders
  local text = file:read("*a")
  file:close()
  return text
end

local function handle()
  local worker = coroutine.create(function()
    local text = load_orders()
    return #text
  end)
  coroutine.resume(worker)
end

local socket = require("socket")
local input = { getfd = function() return 0 end, dirty = function() return false end }
while true do
  socket.select({ input }, nil)
  local line = io.read()
  if line == nil then break end
  if line == "freeze" then handle() end
end
