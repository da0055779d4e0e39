// SPDX-License-Identifier: Apache-2.0
// The loops' usage in one period, by loop and by tag of slow dispatches. Of fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/uuid.h"
#include "policies/usage.h"
#include "watchdog/events/value_usage.h"

namespace lagwatch::watchdog {

struct NamedLoopUsage {
  static constexpr size_t kMaxNameBytes = 32;

  char loop[kMaxNameBytes];
  policies::LoopUsage usage;
};

struct SlowTag {
  static constexpr size_t kMaxTagBytes = 32;

  char loop[NamedLoopUsage::kMaxNameBytes];
  char tag[kMaxTagBytes];  // may be empty
  policies::SlowDispatches dispatches;
};

// A whole period. Everything is borrowed for the call.
struct UsageEvent {
  base::Uuid id;  // of the period: the same until a next one begins
  int64_t begin_wall_ms;
  int64_t end_wall_ms;
  std::span<const NamedLoopUsage> loops;
  std::span<const SlowTag> slow;
  std::span<const uint64_t> suppressed;  // by policies::SuppressedReason
  const ValueUsage* values = nullptr;    // null: none
  bool is_alone;                         // no report was made in the same round
};

// Context: watchdog; not thread-safe.
class UsagePeriod {
 public:
  static constexpr size_t kMaxLoops = 64;
  static constexpr size_t kMaxTags = 64;
  // The name for everything without a place of its own.
  static constexpr auto& kOthers = ValueUsage::kOthers;

  // Valid until the next Clear().
  policies::LoopUsage* Of(const char* loop);
  void AddSlow(const char* loop, const char* tag, int64_t duration_ns);
  std::span<const NamedLoopUsage> loops() const { return {loops_.data(), loop_count_}; }
  std::span<const SlowTag> slow() const { return {slow_.data(), slow_count_}; }
  ValueUsage& values() { return values_; }
  const ValueUsage& values() const { return values_; }
  // Whether no loop was watched.
  bool is_empty() const;
  void Clear() {
    loop_count_ = slow_count_ = 0;
    values_.Clear();
  }

 private:
  SlowTag* SlowOf(const char* loop, const char* tag);

  size_t loop_count_ = 0;
  size_t slow_count_ = 0;
  std::array<NamedLoopUsage, kMaxLoops> loops_;
  std::array<SlowTag, kMaxTags> slow_;
  ValueUsage values_;
};

}  // namespace lagwatch::watchdog
