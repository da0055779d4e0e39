// SPDX-License-Identifier: Apache-2.0
// Who wants to notice the end of functions may put other addresses in the place of their return addresses
// (trace/instrument does). Where those lead is only certain while the functions are under way: so copies of
// stacks are mended before their threads go on.
// Context: signal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lagwatch::stack {

struct ReplacedReturns {
  // What stands for return addresses: [begin, begin + size_bytes).
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  // What `address`, one of these, stands for right now. Context: signal.
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
