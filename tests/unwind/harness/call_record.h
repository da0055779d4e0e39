// SPDX-License-Identifier: Apache-2.0
// The truth about a thread that is single-stepped: which calls it has made and not returned from. Known by
// watching each instruction's effect on the program counter and the stack, without any unwind table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/frames/raw_stack.h"

namespace lagwatch::unwind_test {

inline constexpr size_t kMaxDepth = 256;

// A chain of addresses from the inside: the program counter, then return addresses.
struct CallChain {
  uint64_t innermost_slot;  // where the innermost return address lies
  uint64_t addresses[kMaxDepth];
  size_t size = 0;

  void Add(uint64_t address) {
    if (size < kMaxDepth) addresses[size++] = address;
  }
};

// Knows threads that switch stacks (coroutines): each stack is identified by the end of its
// mapping. Context: signal.
class CallRecord {
 public:
  // Begins in a function that was called from `outer[0]`, where `slot` is the address that its return address
  // lies at; `outer[1]` and so on are its callers, which must not return before the record ends.
  void Begin(uint64_t slot, std::span<void* const> outer, const stack::StackRegions& stacks);

  // The thread is about to execute the instruction at `pc`.
  void Step(uint64_t pc, uint64_t stack_pointer, const stack::StackRegions& stacks);

  // False in the few instructions that leave one stack or frame for another without a return (a coroutine's
  // switch, the end of an exception's way, which overwrites return addresses first), in which there is no
  // one right answer.
  bool IsClear() const;
  void Write(CallChain* chain) const;

 private:
  struct Call {
    uint64_t slot;
    uint64_t return_address;
    uint64_t stack_end;
  };
  static constexpr size_t kMaxCalls = 512;

  // Returns whether there were any.
  bool DropReturned(uint64_t stack_pointer);
  void Push(uint64_t slot, uint64_t return_address);
  const Call* Innermost() const;

  Call calls_[kMaxCalls];
  size_t call_count_ = 0;
  uint64_t outer_[kMaxDepth];  // of the stack that the record began on
  size_t outer_count_ = 0;
  uint64_t outer_stack_end_ = 0;
  uint64_t stack_end_ = 0;
  uint64_t pc_ = 0;
  uint64_t stack_pointer_ = 0;
  bool is_leaving_ = false;  // see IsClear()
};

}  // namespace lagwatch::unwind_test
