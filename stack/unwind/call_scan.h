// SPDX-License-Identifier: Apache-2.0
// Finds callers of functions that neither a table nor a frame pointer describes: a C library built without
// tables (musl), hand-written assembly. See docs/design/unwinding.md. Context: watchdog; not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/unwind/code_reader.h"
#include "stack/unwind/stack_memory.h"

namespace lagwatch::stack {

struct ScannedCaller {
  uint64_t slot;  // the address of the return address
  uint64_t return_address;
};

class CallScan {
 public:
  // Borrows both.
  CallScan(StackMemory* memory, const CodeReader* code) : memory_(memory), code_(code) {}

  // The return addresses further out than `stack_pointer` behind calls of the function that holds
  // `program_counter`, from the inside. They are evidence, not a proof: one may be left over from an earlier
  // call. Valid until the next call.
  std::span<const ScannedCaller> Find(uint64_t stack_pointer, uint64_t program_counter);

 private:
  static constexpr uint64_t kReachBytes = 8 * 1024;  // of a frame
  static constexpr uint64_t kFunctionBytes = 4 * 1024;
  static constexpr size_t kMaxCallers = 4;

  // The function with `program_counter` that a call of `target` leads to, by tail calls too; 0: none.
  uint64_t Reached(uint64_t target, uint64_t program_counter) const;
  // Not where another function begins in between: behind a return and padding, with no branch to it.
  bool MayHold(uint64_t function, uint64_t program_counter) const;
  // Whether code from `function` on up to `place` may branch there.
  bool BranchesTo(uint64_t function, uint64_t place) const;

  StackMemory* memory_;
  const CodeReader* code_;
  std::array<ScannedCaller, kMaxCallers> callers_;
};

}  // namespace lagwatch::stack
