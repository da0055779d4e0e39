-- SPDX-License-Identifier: Apache-2.0
-- lua freezing.lua FLAG: see freezing.c.
local socket = require("socket")
local flag = arg[1]

local function freeze_sleep() socket.sleep(1.5) return true end

local function freeze_compute()
  local finish = socket.gettime() + 1.5
  while socket.gettime() < finish do end
end

local function freeze_child() os.execute("sleep 1.5") return true end

local function freeze(way)
  if way == "sleep" then
    freeze_sleep()
  elseif way == "compute" then
    freeze_compute()
  elseif way == "child" then
    freeze_child()
  end
end

local server = socket.bind("127.0.0.1", 0)
while true do
  socket.select({ server }, nil, 0.05)
  local file = io.open(flag)
  if file then
    local way = file:read("*l")
    file:close()
    freeze(way)
    os.remove(flag)
  end
end
