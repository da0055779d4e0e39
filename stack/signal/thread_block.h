// SPDX-License-Identifier: Apache-2.0
// Where the C library notes, in each thread's control block, which memory it gave the thread as its stack.
// Read in the thread itself, that tells a stack of the thread's own from any other memory that the thread
// may run on, as coroutines do.
// Context: signal (plain data).
#pragma once

#include <cstdint>

namespace lagwatch::stack {

struct ThreadBlockLayout {
  static constexpr int64_t kUnknown = INT64_MIN;  // this C library has no such note
  int64_t stack_note_offset = kUnknown;           // from the thread pointer

  bool is_known() const { return stack_note_offset != kUnknown; }
};

// As it lies in the control block. The main thread's begins at 0, which says nothing.
struct ThreadStackNote {
  uint64_t address;
  uint64_t size_bytes;

  bool Holds(uint64_t at) const { return address != 0 && at >= address && at - address < size_bytes; }
};

}  // namespace lagwatch::stack
