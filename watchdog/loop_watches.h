// SPDX-License-Identifier: Apache-2.0
// The watches of a registry's places. There is room for all from the start, because the watchdog cannot
// allocate; what belongs to places that were never taken is not touched, so that it costs no memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/mapped_memory.h"
#include "watchdog/loop_registry.h"
#include "watchdog/loop_watch.h"

namespace lagwatch::watchdog {

// Context: watchdog, but for what creates and destroys; not thread-safe.
class LoopWatches {
 public:
  // With rings of so many samples. Context: background; allocates.
  explicit LoopWatches(int32_t ring_size)
      : ring_size_(static_cast<size_t>(ring_size)),
        samples_(base::MapBlock<LoopSample>(LoopRegistry::kMaxLoops * ring_size_)),
        watches_(std::allocator<LoopWatch>().allocate(LoopRegistry::kMaxLoops)) {}
  ~LoopWatches() {
    std::destroy_n(watches_, count_);
    std::allocator<LoopWatch>().deallocate(watches_, LoopRegistry::kMaxLoops);
  }
  // False when there was no memory for the rings.
  bool ok() const { return samples_ != nullptr; }
  LoopWatches(const LoopWatches&) = delete;
  LoopWatches& operator=(const LoopWatches&) = delete;

  // Those of the first `count` places, of which there are more at every call or as many.
  std::span<LoopWatch> First(size_t count) {
    for (; count_ < count; ++count_) {
      std::construct_at(watches_ + count_);
      watches_[count_].SetRing(samples_.get() + count_ * ring_size_);
    }
    return {watches_, count};
  }
  std::span<LoopWatch> all() { return {watches_, count_}; }
  std::span<const LoopWatch> all() const { return {watches_, count_}; }

 private:
  size_t ring_size_;
  base::MappedBlock<LoopSample> samples_;
  LoopWatch* watches_;
  size_t count_ = 0;
};

}  // namespace lagwatch::watchdog
