-- SPDX-License-Identifier: Apache-2.0
local function load_orders()
  local file = io.open(os.getenv("FIFO"))
  local text = file:read("*a") -- FREEZE load_orders
  file:close()
  return text
end

local function handle()
  local worker = coroutine.create(function() return load_orders() end)
  coroutine.resume(worker)
end

local poll, read = require("posix.poll").rpoll, require("posix.unistd").read
while poll(0, -1) == 1 do
  local text = read(0, 100)
  if text == "" then break end
  if text:find("freeze") then handle() end
end
