// SPDX-License-Identifier: Apache-2.0
// Memory for the samples of loops that are stuck: one ring for each, taken when its first window opens.
#pragma once

#include <array>
#include <cstddef>

#include "base/process/own_memory.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::watchdog {

// Context: watchdog, except for what creates and destroys; not thread-safe.
class SampleRings {
 public:
  // Of so many samples each. Maps a first one, which is not touched. Context: background.
  explicit SampleRings(size_t ring_size) : ring_size_(ring_size) { GiveBack(Map()); }
  ~SampleRings() {
    for (size_t i = 0; i < free_count_; ++i) Unmap(free_[i]);
  }
  SampleRings(const SampleRings&) = delete;
  SampleRings& operator=(const SampleRings&) = delete;

  // False when there is no memory even for one.
  bool ok() const { return free_count_ != 0; }
  // Null when there is no memory.
  LoopSample* Take() { return free_count_ != 0 ? free_[--free_count_] : Map(); }
  // A few are kept for the next one. Null is nothing.
  void GiveBack(LoopSample* ring) {
    if (ring == nullptr) return;
    if (free_count_ != free_.size()) {
      free_[free_count_++] = ring;
    } else {
      Unmap(ring);
    }
  }

 private:
  LoopSample* Map() const { return base::MapOwnBlock<LoopSample>(ring_size_).release(); }
  void Unmap(LoopSample* ring) const { munmap(ring, ring_size_ * sizeof(LoopSample)); }

  size_t ring_size_;
  size_t free_count_ = 0;
  std::array<LoopSample*, 4> free_;
};

}  // namespace lagwatch::watchdog
