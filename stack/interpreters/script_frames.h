// SPDX-License-Identifier: Apache-2.0
// The frames of an interpreted program, as an interpreter's reader found them. Context: any (plain data).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lagwatch::stack {

struct ScriptFrame {
  uint64_t function;  // in ScriptFunctions
  uint32_t line;      // 0: not known
  bool ends_call;     // the outermost one that its native call of the interpreter's function runs
};

// The frames of one thread, innermost first.
struct ScriptFrames {
  static constexpr size_t kMost = 128;

  size_t count = 0;
  bool is_cut = false;  // there are more
  std::array<ScriptFrame, kMost> frames;
};

}  // namespace lagwatch::stack
