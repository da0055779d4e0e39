// SPDX-License-Identifier: Apache-2.0
// Stacks of scripts and of managed code: the frames that a native unwinder cannot see.
#pragma once

#include <cstdint>
#include <optional>

#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"

namespace lagwatch::stack {

class CodeMap;

// A thread whose native stack was just captured.
struct CapturedThread {
  int tid;
  const RawStack* raw;  // what the native stack was unwound from; null if nothing could be read
};

// A lock of a language's run time, such as the global interpreter lock.
struct ScriptLock {
  uint64_t address;
  uint64_t turn;  // another one each time that another thread gets it
  int owner_tid;

  bool operator==(const ScriptLock&) const = default;
};

// A reader of one or more languages' stacks. Context: watchdog.
class ScriptStacks {
 public:
  virtual ~ScriptStacks() = default;
  // Puts the script frames of `thread` into `stack`, its native stack, in place of the frames of the
  // language's run time. Leaves `stack` as it is if the thread has none.
  virtual void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) = 0;
  // The lock that the word at `address` belongs to, if it is such a lock and has an owner. Reads it in place.
  virtual std::optional<ScriptLock> FindLock(uint64_t) { return std::nullopt; }
  // The run time whose frames cannot be read, such as "python 3.14"; empty if there is none. Valid until the
  // next call of AddTo().
  virtual const char* unreadable() const { return ""; }
};

}  // namespace lagwatch::stack
