// SPDX-License-Identifier: Apache-2.0
// Puts Python frames into a native stack.
#pragma once

#include <cstdint>

#include "stack/frames/stack.h"
#include "stack/interpreters/python/reader.h"

namespace lagwatch::stack::python {

// The interpreter's place in the process.
struct Place {
  uint32_t module;      // its code's
  uint64_t evaluation;  // the offset of the function that runs Python code
  uint32_t language;    // the module of Python's frames
};

// Replaces the interpreter's frames in `stack`: each call of the evaluation function by the Python frames
// that it runs, innermost first; its other functions are left out. Frames of all other modules stay where
// they are. Frames that no call was found for follow the others. Does nothing without Python frames. Context:
// any; pure.
void Splice(const Place& place, const Frames& frames, Stack* stack);

}  // namespace lagwatch::stack::python
