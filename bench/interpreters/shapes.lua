-- SPDX-License-Identifier: Apache-2.0
-- Lua stacks of random shapes. `stops N SEED`: N times, prints the stack that Lua itself sees, one line "NAME (FILE):LINE|…",
-- and waits for a line of input. `churn`: loads, runs and drops functions and coroutines for ever.
local load_text = loadstring or load
local outside = ""  -- the lines of those who have resumed the coroutine that runs
local grow

-- Those of the callers from that level on, innermost first.
local function lines_of(level)
  local lines = {}
  local info = debug.getinfo(level, "nSl")
  while info do
    local name = info.name
    if info.namewhat == "metamethod" then name = "__" .. name:gsub("^__", "") end
    if name == "(for generator)" then name = "for iterator" end
    if info.what == "main" then name = "main chunk" end
    if name == nil or name == "?" then name = "anonymous" end
    if info.what ~= "C" and info.what ~= "tail" then
      lines[#lines + 1] = name .. " (" .. info.short_src:match("[^/]*$") .. "):" .. info.currentline
    end
    level = level + 1
    info = debug.getinfo(level, "nSl")
  end
  return table.concat(lines, "|")
end

local function stop()
  io.stdout:write(lines_of(3), outside, "\n")
  io.stdout:flush()
end

local Node = {}
Node.__index = Node
function Node:method(depth) grow(depth) end
function Node.static(depth) grow(depth) end
Node.__add = function(node) grow(node.depth) return 1 end
Node.__concat = function(node) grow(node.depth) return "" end
Node.__lt = function(a) grow(a.depth) return false end
Node.__newindex = function(node, _, depth) grow(depth) end
Node.__call = function(_, depth) grow(depth) end

local function node(depth)
  return setmetatable({depth = depth}, Node)
end

local function resumed(depth)
  local before = outside
  local co = coroutine.wrap(function(...)
    coroutine.yield(...)
    grow(depth)
  end)
  co()
  outside = "|" .. lines_of(2) .. outside co()
  outside = before
end

local ways = {
  function(depth) node(depth):method(depth) end,
  function(depth) Node.static(depth) end,
  function(depth) return node(depth) + 1, 1 end,
  function(depth) return node(depth) .. "x", 1 end,
  function(depth) return node(depth) < node(depth), 1 end,
  function(depth) node(depth).other = depth end,
  function(depth) node(depth)(depth) end,
  function(depth) pcall(grow, depth) end,
  function(depth) pcall(function() grow(depth) end) end,
  function(depth)
    local is_done = false
    table.sort({1, 2}, function(a, b)
      if not is_done then is_done = true grow(depth) end
      return a < b
    end)
  end,
  function(depth) string.gsub("a", "a", function() grow(depth) end) end,
  function(depth) for _ in function() grow(depth) end do end end,
  function(depth)
    local run = load_text("local grow, depth = ...\n\n\ngrow(depth)")
    run(grow, depth)
  end,
  function(depth) return grow(depth) end,
  function(depth)
    local values = {
      1,
      grow(
        depth
      ),
      depth > 2 and 3 or 4
    }
    return values, 1
  end,
  resumed,
}

function grow(depth)
  if depth == 0 then
    stop() io.read()
    return 0
  end
  ways[math.random(#ways)](depth - 1)
  return 0
end

local function churn()
  while true do
    local name = "f" .. math.random(1000)
    local text = "local " .. name .. "\n" .. string.rep("\n", math.random(50)) .. "function " .. name ..
      "(n) if n > 0 then return 1 + " .. name .. "(n - 1) end return 0 end\nreturn " .. name
    local run = load_text(text, "@" .. name .. ".lua")()
    run(math.random(20))
    local co = coroutine.wrap(function() coroutine.yield() run(math.random(20)) end)
    co()
    co()
  end
end

if arg[1] == "stops" then
  math.randomseed(tonumber(arg[3]))
  for _ = 1, tonumber(arg[2]) do grow(math.random(0, 11)) end
else
  print("churning")
  io.stdout:flush()
  churn()
end
