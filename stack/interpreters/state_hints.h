// SPDX-License-Identifier: Apache-2.0
// The addresses at which a thread's states of an interpreter were found last. They are hints for the thread
// itself, which copies the states when it is sampled.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lagwatch::stack {

// Zeros are an empty table. Thread safety: one thread sets, any reads. Context: any, signal included.
class StateHints {
 public:
  static constexpr size_t kPerThread = 4;
  using States = std::array<std::atomic<uint64_t>, kPerThread>;  // 0: none

  // `index` below kPerThread.
  void Set(int tid, size_t index, uint64_t state) {
    states_[PlaceOf(tid)][index].store(state, std::memory_order_relaxed);  // checked by its users
  }
  // May be another thread's.
  const States& Of(int tid) const { return states_[PlaceOf(tid)]; }

 private:
  static constexpr size_t kPlaces = 256;
  static size_t PlaceOf(int tid) { return static_cast<uint32_t>(tid) % kPlaces; }

  std::array<States, kPlaces> states_{};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "not signal-safe");

}  // namespace lagwatch::stack
