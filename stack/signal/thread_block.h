// SPDX-License-Identifier: Apache-2.0
// Reads the bounds of a thread's stack from the C library's thread control block. In the thread itself,
// they distinguish its own stack from any other memory that it may run on, as coroutines do. Context:
// signal (plain data).
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
