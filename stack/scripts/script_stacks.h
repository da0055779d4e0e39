// SPDX-License-Identifier: Apache-2.0
// Stacks of scripts and of managed code: the frames that a native unwinder cannot see.
#pragma once

#include "stack/frames/stack.h"

namespace lagwatch::stack {

class CodeMap;

// A reader of one or more languages' stacks. Context: watchdog.
class ScriptStacks {
 public:
  virtual ~ScriptStacks() = default;
  // Puts the script frames of thread `tid` into `stack`, its native stack as it was just captured, in place
  // of the frames of the language's run time. Leaves `stack` as it is if the thread has none.
  virtual void AddTo(int tid, CodeMap* code, Stack* stack) = 0;
  // The run time whose frames cannot be read, such as "python 3.14"; empty if there is none. Valid until the
  // next call of AddTo().
  virtual const char* unreadable() const { return ""; }
};

}  // namespace lagwatch::stack
