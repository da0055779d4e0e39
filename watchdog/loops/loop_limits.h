// SPDX-License-Identifier: Apache-2.0
// The application's settings of one loop: thresholds, and weight. They may change at any time.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "policies/options/option_table.h"

namespace lagwatch::watchdog {

// The permitted durations. Whole milliseconds.
struct Thresholds {
  static constexpr int64_t kShortestNs = policies::OptionTable::threshold_ms.least * base::kNsPerMs;
  static constexpr int64_t kLongestNs = policies::OptionTable::threshold_ms.most * base::kNsPerMs;

  int64_t threshold_ns = 0;
  int64_t anr_threshold_ns = 0;  // the second one, which raises the level; 0: there is none

  // Both in their range, the second not below the first.
  Thresholds InRange() const;
  bool operator==(const Thresholds&) const = default;
};

// Thread safety: all from any thread. Wait-free.
class LoopLimits {
 public:
  // Returns the thresholds in force from now on.
  Thresholds SetThresholds(const Thresholds& wanted);
  // The loop's own; `others` when it has none.
  Thresholds ThresholdsOr(const Thresholds& others) const;
  void SetWeight(uint32_t weight) { weight_.store(weight); }
  // 0 when the application gave none.
  uint32_t weight() const { return weight_.load(); }
  // Nothing was said yet.
  void Reset();

 private:
  std::atomic<uint64_t> thresholds_ms_{0};  // both in one word, the second in its upper half; 0: none given
  std::atomic<uint32_t> weight_{0};
};

}  // namespace lagwatch::watchdog
