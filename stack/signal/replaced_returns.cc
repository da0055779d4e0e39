// SPDX-License-Identifier: Apache-2.0
#include "stack/signal/replaced_returns.h"

namespace lagwatch::stack {
namespace {

constexpr ReplacedReturns kNone;
constinit std::atomic<const ReplacedReturns*> g_returns{&kNone};
static_assert(std::atomic<const ReplacedReturns*>::is_always_lock_free, "not signal-safe");

}  // namespace

void UseReplacedReturns(const ReplacedReturns* returns) {
  g_returns.store(returns, std::memory_order_release);  // pairs with CurrentReplacedReturns()
}

const ReplacedReturns& CurrentReplacedReturns() noexcept {
  return *g_returns.load(std::memory_order_acquire);  // pairs with UseReplacedReturns()
}

void MendReturns(uint64_t address, const char* source, char* copy, uint64_t size_bytes) noexcept {
  const ReplacedReturns returns = CurrentReplacedReturns();
  if (returns.size_bytes == 0) return;
  uint64_t word;
  for (uint64_t at = -address % sizeof word; at + sizeof word <= size_bytes; at += sizeof word) {
    __builtin_memcpy(&word, source + at, sizeof word);
    if (!returns.Holds(word)) [[likely]]
      continue;
    word = returns.original_of(word);
    __builtin_memcpy(copy + at, &word, sizeof word);
  }
}

}  // namespace lagwatch::stack
