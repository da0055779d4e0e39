-- SPDX-License-Identifier: Apache-2.0
-- A loop that freezes once, as loop.c does: loop.lua POLL DISPATCH KIND. An event is a byte of standard input.
local socket = require("socket")
local poll, dispatch, kind = arg[1], tonumber(arg[2]), arg[3]

local function freeze_here()
  if kind == "cpu" then
    local finish = os.clock() + 0.9
    while os.clock() < finish do end
  elseif kind == "sleep" then
    socket.sleep(0.9)
  elseif kind == "sleep-by-select" then
    socket.select(nil, nil, 0.9)
  elseif kind == "child" then
    os.execute("exec sleep 0.9")
  elseif kind == "output" then
    local output = io.popen("sleep 0.9; echo late")
    output:read("*a")
    output:close()
  else
    os.exit(2)
  end
end

local function input(descriptor)
  return { getfd = function() return descriptor end, dirty = function() return false end }
end

io.stdin:setvbuf("no")
local sources = { input(0) }
local servers = {}
for i = 1, poll:find("many") and 3 or 0 do
  servers[i] = socket.bind("127.0.0.1", 0)
  sources[i + 1] = servers[i]
end
for turn = 1, dispatch + 5 do
  socket.select(sources, nil)
  io.read(1)
  if turn == dispatch then freeze_here() end
end
print("good")
