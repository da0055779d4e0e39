-- SPDX-License-Identifier: Apache-2.0
-- Freezes its loop in the way that the argument names, and prints the stack that Lua itself sees there.
local socket = require("socket")

local SECONDS = 0.6

-- "NAME (FILE):LINE" of the callers that are written in Lua, innermost first, from the one of that level on.
local function lines_of(level)
  local lines = {}
  while debug.getinfo(level, "nSl") do
    local info = debug.getinfo(level, "nSl")
    local name = info.name
    if info.namewhat == "metamethod" then name = "__" .. name:gsub("^__", "") end
    if name == "(for generator)" then name = "for iterator" end
    if info.what == "main" then name = "main chunk" end
    if name == nil or name == "?" then name = "anonymous" end
    if info.what ~= "C" and info.what ~= "tail" then
      lines[#lines + 1] = name .. " (" .. info.short_src:match("[^/]*$") .. "):" .. info.currentline
    end
    level = level + 1
  end
  return table.concat(lines, "\n") .. "\n"
end

-- Prints the stack. Called on the line that then freezes. `outside`: the lines of who has resumed a coroutine.
local function tell(outside)
  io.stdout:write(lines_of(3), outside or "")
  io.stdout:flush()
end

local Handler = {}
Handler.__index = Handler

function Handler:sleep()
  tell() socket.sleep(SECONDS)
end

function Handler:spin()
  local end_at = os.clock() + SECONDS
  tell() repeat for _ = 1, 3000000 do end until os.clock() > end_at
end

function Handler:sort()
  local is_told = false
  table.sort({3, 1, 2}, function(a, b)
    if not is_told then
      is_told = true
      tell() socket.sleep(SECONDS)
    end
    return a < b
  end)
end

function Handler:pattern()
  local text = string.rep("a", 100)
  local end_at = os.clock() + SECONDS
  tell() repeat string.find(text, ".-.-.-b") until os.clock() > end_at
end

function Handler:metamethod()
  local proxy = setmetatable({}, {__index = function(_, key)
    tell() socket.sleep(SECONDS)
    return key
  end})
  return proxy.field .. ""
end

function Handler:protected()
  pcall(pcall, function()
    local ok = pcall(function()
      tell() socket.sleep(SECONDS)
    end)
    return ok
  end)
end

function Handler:coroutine()
  local outside
  local inner = coroutine.wrap(function()
    coroutine.yield()
    tell(outside) socket.sleep(SECONDS)
  end)
  inner()
  local middle = coroutine.wrap(function()
    outside = lines_of(2) .. outside inner()
  end)
  outside = lines_of(2) middle()
end

function Handler:iterator()
  local function values()
    tell() socket.sleep(SECONDS)
  end
  for _ in values do end
end

function Handler:chunk()
  local run = (loadstring or load)("local tell, sleep, seconds = ...\n\ntell() sleep(seconds)")
  run(tell, socket.sleep, SECONDS)
end

local function main()
  local server = socket.bind("127.0.0.1", 0)
  for turn = 1, 6 do
    socket.select({server}, nil, 0.05)
    if turn == 4 then
      local handler = setmetatable({}, Handler)
      local call = (loadstring or load)("local handler = ...\nhandler:" .. arg[1] .. "()")
      call(handler)
    end
  end
end

main()
