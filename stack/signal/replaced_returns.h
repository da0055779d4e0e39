// SPDX-License-Identifier: Apache-2.0
// Restores replaced return addresses in copies of stacks. Code that detects the end of functions may replace
// their return addresses (trace/instrument does). The original ones are only certain while the functions are
// under way: so copies of stacks are mended before their threads go on. Context: signal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lagwatch::stack {

struct ReplacedReturns {
  // The replacements: [begin, begin + size_bytes).
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  // Returns the original of `address`, one of these, at this moment. Context: signal.
  uint64_t (*original_of)(uint64_t address) = nullptr;

  bool Holds(uint64_t address) const { return address - begin < size_bytes; }
  uint64_t Original(uint64_t address) const { return Holds(address) ? original_of(address) : address; }
};

// Says so, for the whole process and from now on; `returns` must stay for ever. Context: background.
void UseReplacedReturns(const ReplacedReturns* returns);

// One that holds nothing until then.
const ReplacedReturns& CurrentReplacedReturns() noexcept;

// Puts the original return addresses into `copy`, which was made of the `size_bytes` at `source`, which were
// at `address` on the stack. `source` may be the copy itself.
void MendReturns(uint64_t address, const char* source, char* copy, uint64_t size_bytes) noexcept;

}  // namespace lagwatch::stack
