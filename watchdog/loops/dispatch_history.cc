// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/dispatch_history.h"

#include <algorithm>
#include <cstring>

namespace lagwatch::watchdog {

void DispatchHistory::Add(const Dispatch& dispatch) {
  uint64_t number = count_.load(std::memory_order_relaxed) + 1;  // only this thread writes it
  DispatchPlace& place = places_[number % kMaxDispatches];
  uint64_t words[kWords];
  std::memcpy(words, &dispatch, sizeof words);
  // Release, each: a reader that gets a new word must also see the zero before it.
  place.number.store(0, std::memory_order_release);
  for (size_t i = 0; i < kWords; ++i) place.words[i].store(words[i], std::memory_order_release);
  place.number.store(number, std::memory_order_release);
  count_.store(number, std::memory_order_release);
}

bool DispatchHistory::Read(size_t index, Dispatch* dispatch) const {
  uint64_t all = count();
  uint64_t kept = std::min<uint64_t>(all, kMaxDispatches);
  return index < kept && ReadNumber(all - kept + index + 1, dispatch);
}

bool DispatchHistory::ReadNumber(uint64_t number, Dispatch* dispatch) const {
  const DispatchPlace& place = places_[number % kMaxDispatches];
  // Acquire, each: it pairs with Add's stores and keeps the loads in this order.
  if (place.number.load(std::memory_order_acquire) != number) return false;
  uint64_t words[kWords];
  for (size_t i = 0; i < kWords; ++i) words[i] = place.words[i].load(std::memory_order_acquire);
  if (place.number.load(std::memory_order_acquire) != number) return false;
  std::memcpy(dispatch, words, sizeof words);
  return true;
}

}  // namespace lagwatch::watchdog
