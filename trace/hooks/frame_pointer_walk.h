// SPDX-License-Identifier: Apache-2.0
// Walks a thread's own stack from inside a function that it called. Context: signal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stack/frames/call_registers.h"

namespace lagwatch::trace {

using stack::CallRegisters;

// The registers of the call that led into the function in which this is written.
[[gnu::always_inline]] inline CallRegisters CallersRegisters() {
  const auto* frame = static_cast<const uint64_t*>(__builtin_frame_address(0));
  return {reinterpret_cast<uint64_t>(__builtin_extract_return_addr(__builtin_return_address(0))),
          reinterpret_cast<uint64_t>(__builtin_dwarf_cfa()), frame[0]};
}

// Writes the program counters from `from.program_counter` outwards, at most `capacity`, and returns their
// number: at least one. `is_complete`: the outermost frame is among them. Neither faults nor allocates.
// `context` is the walker's own.
using StackWalker = size_t (*)(const void* context, const CallRegisters& from, uint64_t* pcs, size_t capacity,
                               bool* is_complete);

// Follows frame pointers, inside the thread's own stack only.
size_t WalkFramePointers(const void*, const CallRegisters& from, uint64_t* pcs, size_t capacity,
                         bool* is_complete);

// The end of the thread's own stack, from `stack_pointer` to which all memory is there; `stack_pointer`
// itself where the thread runs on some other memory, as coroutines and some signal handlers do. After
// FindOwnStacks().
uint64_t OwnStackEnd(uint64_t stack_pointer);

// To be called once before the first walk. Context: background (starts a thread).
void FindOwnStacks();

}  // namespace lagwatch::trace
