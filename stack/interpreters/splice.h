// SPDX-License-Identifier: Apache-2.0
// Puts script frames into a native stack.
#pragma once

#include <cstdint>

#include "stack/frames/stack.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack {

// An interpreter's place in the process.
struct InterpreterPlace {
  uint32_t module;      // its code's
  uint64_t evaluation;  // the offset of the function that runs scripts
  uint32_t language;    // the module of the scripts' frames
};

// Replaces the interpreter's frames in `stack`: each call of the evaluation function by the script frames
// that it runs, innermost first; its other functions are left out. Frames of all other modules stay where
// they are. Frames that no call was found for follow the others. Does nothing without script frames. Context:
// any; pure.
void Splice(const InterpreterPlace& place, const ScriptFrames& frames, Stack* stack);

}  // namespace lagwatch::stack
