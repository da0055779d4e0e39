// SPDX-License-Identifier: Apache-2.0
// Finds the frame pointer of a function that is known to keep one, if no register has it: for threads that
// were read while they slept. See docs/design/unwinding.md. Context: watchdog; not thread-safe.
#pragma once

#include <cstdint>

#include "stack/unwind/code_reader.h"
#include "stack/unwind/stack_memory.h"
#include "stack/unwind/tables/rule.h"

namespace lagwatch::stack {

// Yields candidates, the likeliest first. Each is beside a return address that follows a call; the caller
// must check whether the walk from there ends where the thread began.
class FramePointerSearch {
 public:
  enum class Proof : uint8_t {
    kPrologue,  // the function's own code says how large its frame is
    kCall,      // the call there calls this function
    kChain,     // an indirect call, and a plausible saved frame pointer
    kNone,
  };

  // `stack_pointer` is that of the function at its call; `rule` holds there. Borrows the others.
  FramePointerSearch(uint64_t stack_pointer, uint64_t function_start, const UnwindRule& rule,
                     StackMemory* memory, const CodeReader* code);

  // False when there are no more.
  bool Next(uint64_t* frame_pointer);
  // Of the last candidate.
  Proof proof() const { return proof_; }

 private:
  static constexpr uint64_t kReachBytes = 64 * 1024;
  static constexpr int kMaxCandidates = 16;

  bool CheckPrologue(uint64_t* frame_pointer);
  bool Calls(const CallSite& call) const;
  bool IsProven(uint64_t candidate) const;

  uint64_t stack_pointer_;
  uint64_t function_start_;
  UnwindRule rule_;
  StackMemory* memory_;
  const CodeReader* code_;
  Proof proof_ = Proof::kPrologue;
  bool is_prologue_checked_ = false;
  uint64_t first_;
  uint64_t next_;
  int candidate_count_ = 0;
};

}  // namespace lagwatch::stack
