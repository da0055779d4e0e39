// SPDX-License-Identifier: Apache-2.0
// Puts JavaScript frames into a native stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/frames/stack.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::v8 {

// V8's place in a process. Offsets are those of frames.
struct V8Code {
  uint32_t module;
  uint32_t language;   // the module of the scripts' frames
  uint64_t api_begin;  // of the functions by which C++ calls scripts
  uint64_t api_end;
  uint64_t callback;  // the function by which scripts call C++; 0: V8's code does so itself
};

// Native frames `first` to `last`, in whose place the script frames [scripts_begin, scripts_end) come.
struct Run {
  uint32_t first;
  uint32_t last;
  size_t scripts_begin;
  size_t scripts_end;
};

// Replaces `runs`, innermost first, and leaves out V8's functions that only lead into a run or out of it. All
// other frames stay where they are. Context: any; pure.
void Splice(const V8Code& place, std::span<const Run> runs, const ScriptFrames& frames, Stack* stack);

}  // namespace lagwatch::stack::v8
