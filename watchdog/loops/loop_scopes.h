// SPDX-License-Identifier: Apache-2.0
// Stretches of a loop's work with deadlines of their own, one inside the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ticks.h"

namespace lagwatch::watchdog {

// Thread safety: Begin and End from the loop's own thread only; the rest from the watchdog thread only.
// Invariant: a place's words belong to the scope whose number it has; the number is 0 while they change.
class LoopScopes {
 public:
  static constexpr size_t kMaxDepth = 8;

  // A scope begins inside those under way. `name` must stay readable until it ends; may be null. One that is
  // nested deeper than kMaxDepth is not watched. Context: hot. One tick read.
  void Begin(const char* name, int64_t deadline_ns) {
    // Relaxed loads here and in End: only this thread writes.
    if (depth_++ >= kMaxDepth) return;
    if (deadline_ns < shortest_deadline_ns_.load(std::memory_order_relaxed))
      shortest_deadline_ns_.store(deadline_ns, std::memory_order_relaxed);  // goes with nothing else
    ScopePlace& place = places_[depth_ - 1];
    // Release, each: a reader that gets a new value here must also see the zero that stood before it.
    place.begin_ticks.store(base::ReadTicks(), std::memory_order_release);
    place.deadline_ns.store(deadline_ns, std::memory_order_release);
    place.name.store(name, std::memory_order_release);
    place.number.store(++numbers_, std::memory_order_release);
  }
  // Ends the innermost one; a stray end is ignored. Context: hot.
  void End() {
    if (depth_ == 0 || depth_-- > kMaxDepth) return;
    places_[depth_].number.store(0, std::memory_order_release);
  }

  struct Scope {
    uint64_t number;  // 0: there is none
    uint64_t begin_ticks;
    int64_t deadline_ns;
    const char* name;  // readable as long as the scope goes on, and no longer
  };
  // The scope at that depth, from 0, the outermost. Context: watchdog.
  Scope Read(size_t depth) const;
  bool IsStillIn(uint64_t number) const;
  // Of all scopes of this loop so far; INT64_MAX when there was none. Context: watchdog.
  int64_t shortest_deadline_ns() const { return shortest_deadline_ns_.load(std::memory_order_relaxed); }

  // No scope, for the next loop that takes this place. Not while the loop's thread uses it.
  void Reset();

 private:
  struct ScopePlace {
    std::atomic<uint64_t> number{0};
    std::atomic<uint64_t> begin_ticks{0};
    std::atomic<int64_t> deadline_ns{0};
    std::atomic<const char*> name{nullptr};
  };

  size_t depth_ = 0;
  uint64_t numbers_ = 0;
  std::atomic<int64_t> shortest_deadline_ns_{INT64_MAX};
  ScopePlace places_[kMaxDepth];
};

}  // namespace lagwatch::watchdog
