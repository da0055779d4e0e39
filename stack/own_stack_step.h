// SPDX-License-Identifier: Apache-2.0
// A step of a walk of the own stack that is not one of the usual ones: out of signal handlers, by
// expressions, on other stacks than the thread's own. Context: hot, signal.
#pragma once

#include <cstdint>
#include <cstring>

#include "stack/frames/raw_stack.h"
#include "stack/unwind/tables/unwind_table.h"

namespace lagwatch::stack {

// Loads a word of the own stack, which is certain to exist. Sanitizers ignore words that are uninitialized or
// shared with other threads.
__attribute__((no_sanitize("address"), no_sanitize("thread"))) inline uint64_t LoadOwnWord(uint64_t address) {
  uint64_t word;
  __builtin_memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

// Memory of the own stack, and, fault-proof, of any other, as a signal handler's or a coroutine's.
class OwnStackMemory {
 public:
  explicit OwnStackMemory(const MemoryRegion& own) : own_(own) {}

  bool ReadWord(uint64_t address, uint64_t* word);
  const MemoryRegion& own() const { return own_; }

 private:
  static constexpr int kMaxWindows = 64;  // each is a system call

  MemoryRegion own_;
  uint64_t window_address_ = 0;
  size_t window_bytes_ = 0;
  int window_count_ = 0;
  char window_[512];
};

struct OwnCursor {
  uint64_t program_counter;
  uint64_t stack_pointer;
  uint64_t frame_pointer;
  uint64_t base_pointer;       // 0: not known
  const Registers* registers;  // of a frame that a signal interrupted; null for callers

  // By what the rule is looked up: see TableUnwinder.
  uint64_t end_of_call() const { return program_counter + (registers != nullptr ? 1 : 0); }
  bool ReadRegister(uint64_t dwarf_register, uint64_t* value) const;
};

enum class OwnStep : uint8_t { kToCaller, kComplete, kIncomplete };

// `rule` is that of `cursor`'s code, which the module loaded at `load_bias` has.
OwnStep StepByRule(const UnwindRule& rule, uint64_t load_bias, OwnStackMemory* memory, OwnCursor* cursor);
// Steps out of a signal handler, if `cursor` is where one returns to: `interrupted` becomes
// the interrupted code.
OwnStep StepOverSignal(OwnStackMemory* memory, OwnCursor* cursor, Registers* interrupted);

}  // namespace lagwatch::stack
