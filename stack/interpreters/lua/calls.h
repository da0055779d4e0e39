// SPDX-License-Identifier: Apache-2.0
// The calls that a thread's Lua has made, as they were found in its states. Context: any (plain data).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::lua {

// Of a function that is written in Lua or in C.
struct Call {
  uint64_t function;    // in ScriptFunctions; 0: it is written in C
  uint32_t line;        // 0: not known
  uint64_t c_function;  // its address
};

// Innermost first.
struct Calls {
  static constexpr size_t kMost = 192;

  size_t count = 0;
  size_t script_count = 0;  // of functions written in Lua
  bool is_cut = false;      // there are more
  std::array<Call, kMost> calls;

  void Clear() {
    count = 0;
    script_count = 0;
    is_cut = false;
  }
  bool is_full() const { return count == kMost || script_count == ScriptFrames::kMost; }
  // The caller has looked whether it is full.
  void Add(const Call& call) {
    calls[count++] = call;
    if (call.function != 0) ++script_count;
  }
};

}  // namespace lagwatch::stack::lua
