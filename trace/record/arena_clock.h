// SPDX-License-Identifier: Apache-2.0
// Converts times of the processor's counter, from two moments that are known on both clocks. Context: any.
#pragma once

#include <cstdint>

#include "base/unsynchronized_copy.h"
#include "trace/record/arena.h"

namespace lagwatch::trace {

class ArenaClock {
 public:
  // As `ticks` stands now; not known where a recorder was killed while it wrote it. Context: any; waits while
  // the recorder writes it.
  explicit ArenaClock(const ArenaTicks& ticks) {
    constexpr int kTries = 1'000'000;
    for (int i = 0; i < kTries; ++i) {
      const uint32_t version = ticks.version.load(std::memory_order_acquire);  // pairs with its store
      base::CopyUnsynchronized(&ticks.last_ticks, &ticks_, sizeof ticks_);
      base::CopyUnsynchronized(&ticks.last_mono_ns, &mono_ns_, sizeof mono_ns_);
      const uint64_t passed_ticks = ticks_ - ticks.first_ticks;
      const int64_t passed_ns = mono_ns_ - ticks.first_mono_ns;
      std::atomic_thread_fence(std::memory_order_acquire);
      const bool is_whole = version % 2 == 0 &&
                            ticks.version.load(std::memory_order_relaxed) == version;  // ordered by the fence
      if (!is_whole) continue;
      if (passed_ticks != 0)
        ns_per_tick_ = static_cast<double>(passed_ns) / static_cast<double>(passed_ticks);
      return;
    }
  }

  bool is_known() const { return ns_per_tick_ > 0; }
  int64_t ToMonoNs(uint64_t ticks) const {
    return mono_ns_ +
           static_cast<int64_t>(static_cast<double>(static_cast<int64_t>(ticks - ticks_)) * ns_per_tick_);
  }
  // When `ticks` stood so.
  int64_t NowNs() const { return mono_ns_; }
  uint64_t TicksPerMs() const { return is_known() ? static_cast<uint64_t>(1e6 / ns_per_tick_) : 0; }

 private:
  uint64_t ticks_ = 0;
  int64_t mono_ns_ = 0;
  double ns_per_tick_ = 0;
};

}  // namespace lagwatch::trace
