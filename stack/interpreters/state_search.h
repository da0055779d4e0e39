// SPDX-License-Identifier: Apache-2.0
// Finds the addresses that may be those of an interpreter's states: no exported symbol leads to them, but the
// interpreter's functions have them in registers and on the stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/code_map.h"
#include "stack/frames/raw_stack.h"

namespace lagwatch::stack {

// Context: watchdog; not thread-safe. Large: not for the stack.
class StateSearch {
 public:
  // Collects the addresses of writable memory outside of the stack that `raw` has in registers and in the
  // innermost part of its stack: each once, in the order in which they are found, from the innermost on.
  void Collect(const RawStack& raw, const StackRegions& memory);
  // The same, of the memory that `code` knows.
  void Collect(const RawStack& raw, CodeMap* code) {
    const auto held = code->Hold();
    Collect(raw, code->modules().stacks());
  }
  std::span<const uint64_t> candidates() const { return {candidates_.data(), count_}; }

 private:
  static constexpr size_t kMostStackBytes = 256 << 10;
  static constexpr size_t kPlaces = 2048;
  static constexpr size_t kMost = 500;

  void Add(uint64_t address, const RawStack& raw, const StackRegions& memory);

  size_t count_ = 0;
  std::array<uint64_t, kMost> candidates_;
  std::array<uint64_t, kPlaces> seen_;  // by hash; 0: free
};

}  // namespace lagwatch::stack
