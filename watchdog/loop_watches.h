// SPDX-License-Identifier: Apache-2.0
// The watches of a registry's places, and which of them the watchdog looks at: not those of idle loops, of
// which there may be thousands. They are made in blocks, which never move.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/process/own_memory.h"
#include "watchdog/loop_watch.h"
#include "watchdog/loops/loop_registry.h"
#include "watchdog/samples/sample_rings.h"

namespace lagwatch::watchdog {

// Context: watchdog, except for what creates and destroys; not thread-safe.
class LoopWatches {
 public:
  // With rings of so many samples. Context: background.
  explicit LoopWatches(int32_t ring_size)
      : rings_(static_cast<size_t>(ring_size)),
        active_(base::MapOwnBlock<uint32_t>(LoopRegistry::kMaxLoops)) {}
  ~LoopWatches() {
    for (size_t place = 0; place < LoopRegistry::kMaxLoops; ++place) {
      LoopWatch* watch = Find(place);
      if (watch == nullptr) continue;
      watch->GiveRingBack(&rings_);
      std::destroy_at(watch);
    }
    for (LoopWatch* block : blocks_) {
      if (block != nullptr) munmap(block, kBlockBytes);
    }
  }
  // False when there was no memory for a first ring.
  bool ok() const { return rings_.ok() && active_ != nullptr; }
  LoopWatches(const LoopWatches&) = delete;
  LoopWatches& operator=(const LoopWatches&) = delete;

  SampleRings* rings() { return &rings_; }
  // Null when it was never made active.
  LoopWatch* Find(size_t place) const {
    const size_t index = place % LoopRegistry::kBlockLoops;
    const bool is_made = (made_[place / LoopRegistry::kBlockLoops] >> index & 1U) != 0;
    return is_made ? blocks_[place / LoopRegistry::kBlockLoops] + index : nullptr;
  }
  LoopWatch& Of(size_t place) const { return *Find(place); }

  // The places that are looked at.
  std::span<const uint32_t> active() const { return {active_.get(), active_count_}; }
  // Makes the place's watch one of them. False when there is no memory for it. Context: any thread while the
  // watchdog does not run.
  bool Activate(size_t place) {
    LoopWatch*& block = blocks_[place / LoopRegistry::kBlockLoops];
    if (block == nullptr) {
      block = static_cast<LoopWatch*>(base::MapOwn(kBlockBytes));
      if (block == nullptr) return false;
    }
    if (Find(place) == nullptr) {
      const size_t index = place % LoopRegistry::kBlockLoops;
      std::construct_at(block + index);
      made_[place / LoopRegistry::kBlockLoops] |= static_cast<uint16_t>(1U << index);
    }
    if (Of(place).SetActive(true)) active_[active_count_++] = static_cast<uint32_t>(place);
    return true;
  }
  // Takes all of them out for which `is_over(place)`.
  template <typename IsOver>
  void DeactivateIf(IsOver is_over) {
    size_t kept = 0;
    for (size_t i = 0; i < active_count_; ++i) {
      const uint32_t place = active_[i];
      if (is_over(place)) {
        Of(place).SetActive(false);
      } else {
        active_[kept++] = place;
      }
    }
    active_count_ = kept;
  }

 private:
  static constexpr size_t kBlockBytes = LoopRegistry::kBlockLoops * sizeof(LoopWatch);

  SampleRings rings_;
  std::array<LoopWatch*, LoopRegistry::kMaxBlocks> blocks_{};
  std::array<uint16_t, LoopRegistry::kMaxBlocks> made_{};  // a bit for each of a block's watches
  static_assert(LoopRegistry::kBlockLoops == 16);
  base::MappedBlock<uint32_t> active_;
  size_t active_count_ = 0;
};

}  // namespace lagwatch::watchdog
