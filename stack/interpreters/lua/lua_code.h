// SPDX-License-Identifier: Apache-2.0
// Lua's code in a process, and the frames of its calls in native stacks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/code/module_map.h"
#include "stack/frames/stack.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/lua/calls.h"

namespace lagwatch::stack::lua {

// Lua's functions in the module that has it, which may be the program itself. Offsets are the module's.
struct LuaCode {
  static constexpr size_t kMostEntries = 36;

  uint32_t module;
  uint32_t language;  // the module of the scripts' frames
  bool is_only_lua;   // all of the module's functions are Lua's
  uint64_t begin;     // of Lua's functions; as `end` 0 where they are not together
  uint64_t end;
  size_t entry_count;
  std::array<uint64_t, kMostEntries> entries;  // the functions by which C has Lua call functions

  // Of the module with that index; `language` is left to the caller.
  static LuaCode Of(uint32_t index, const Module& module, const ExportedSymbols& exports);

  bool IsEntry(const Frame& frame) const {
    return frame.module == module && std::find(entries.begin(), entries.begin() + entry_count,
                                               frame.function_offset) != entries.begin() + entry_count;
  }
  bool IsInterpreter(const Frame& frame) const {
    if (frame.module != module) return false;
    return is_only_lua || (begin <= frame.function_offset && frame.function_offset < end) || IsEntry(frame);
  }
};

// Replaces Lua's own frames in `stack` by those of the functions written in Lua. Each call into Lua takes the
// functions up to the next one written in C, whose native frames stay; the innermost call takes all that are
// left. Functions that no such call is found for follow the others. Does nothing without functions written in
// Lua. Context: any; pure.
void Splice(const LuaCode& place, const Calls& calls, Stack* stack);

}  // namespace lagwatch::stack::lua
