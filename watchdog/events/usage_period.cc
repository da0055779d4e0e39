// SPDX-License-Identifier: Apache-2.0
#include "watchdog/events/usage_period.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace lagwatch::watchdog {
namespace {

template <size_t kSize>
void Copy(const char* text, char (&place)[kSize]) {
  size_t size = strnlen(text, kSize - 1);
  std::memcpy(place, text, size);
  std::memset(place + size, 0, kSize - size);
}

template <size_t kSize>
bool IsSame(const char* text, const char (&place)[kSize]) {
  return std::strncmp(text, place, kSize - 1) == 0;
}

}  // namespace

policies::LoopUsage* UsagePeriod::Of(const char* loop) {
  for (size_t i = 0; i < loop_count_; ++i) {
    if (IsSame(loop, loops_[i].loop)) return &loops_[i].usage;
  }
  if (loop_count_ == kMaxLoops) return &loops_[kMaxLoops - 1].usage;
  NamedLoopUsage& added = loops_[loop_count_++];
  Copy(loop_count_ == kMaxLoops ? kOthers : loop, added.loop);
  added.usage = {};
  return &added.usage;
}

SlowTag* UsagePeriod::SlowOf(const char* loop, const char* tag) {
  for (size_t i = 0; i < slow_count_; ++i) {
    if (IsSame(loop, slow_[i].loop) && IsSame(tag, slow_[i].tag)) return &slow_[i];
  }
  if (slow_count_ == kMaxTags) return &slow_[kMaxTags - 1];
  SlowTag& added = slow_[slow_count_++];
  bool is_last = slow_count_ == kMaxTags;
  Copy(is_last ? kOthers : loop, added.loop);
  Copy(is_last ? kOthers : tag, added.tag);
  added.dispatches = {};
  return &added;
}

void UsagePeriod::AddSlow(const char* loop, const char* tag, int64_t duration_ns) {
  policies::SlowDispatches& slow = SlowOf(loop, tag)->dispatches;
  ++slow.count;
  slow.total_ns += duration_ns;
  slow.longest_ns = std::max(slow.longest_ns, duration_ns);
  ++slow.durations
        .counts[policies::DurationHistogram::BucketOf(static_cast<uint64_t>(duration_ns), base::kNsPerMs)];
}

bool UsagePeriod::is_empty() const {
  return std::ranges::all_of(loops(), [](const NamedLoopUsage& loop) {
    return loop.usage.watched_ns == 0 && loop.usage.hangs == 0;
  });
}

}  // namespace lagwatch::watchdog
