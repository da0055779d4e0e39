// SPDX-License-Identifier: Apache-2.0
// A loop's recent dispatches: the last 200 that were long enough to be recorded.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lagwatch::watchdog {

// Thread safety: Add from the loop's own thread only, Read from any other. Wait-free.
class DispatchHistory {
 public:
  static constexpr size_t kMaxDispatches = 200;
  static constexpr size_t kMaxTagBytes = 32;

  struct Dispatch {
    uint64_t begin_ticks;
    uint64_t duration_ticks;
    int64_t cpu_ns;         // 0 when not known
    int64_t queue_wait_ns;  // 0 when not known
    uint32_t number;        // the low half of the loop's
    int32_t tid;
    char tag[kMaxTagBytes];
  };
  // Forgets the oldest. Context: hot.
  void Add(const Dispatch& dispatch);
  // The `index`-th of those kept, from 0, the oldest. False when the loop's thread is just writing there, or
  // there are no more. Context: watchdog.
  bool Read(size_t index, Dispatch* dispatch) const;
  // The number of dispatches added since the last reset. Context: watchdog.
  uint64_t count() const { return count_.load(std::memory_order_acquire); }  // pairs with Add's store
  // The one that was added as the `number`-th, from 1. False when it is not kept any more. Context: watchdog.
  bool ReadNumber(uint64_t number, Dispatch* dispatch) const;

  // Nothing was done yet. Not while the loop's thread uses it.
  void Reset() { count_.store(0); }

 private:
  static constexpr size_t kWords = sizeof(Dispatch) / sizeof(uint64_t);
  static_assert(sizeof(Dispatch) % sizeof(uint64_t) == 0);

  // The words of dispatch `number`, counted from 1; while they change, the number is 0.
  struct DispatchPlace {
    std::atomic<uint64_t> number{0};
    std::array<std::atomic<uint64_t>, kWords> words{};
  };

  std::atomic<uint64_t> count_{0};  // added so far
  std::array<DispatchPlace, kMaxDispatches> places_;
};

}  // namespace lagwatch::watchdog
