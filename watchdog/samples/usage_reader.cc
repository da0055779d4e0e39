// SPDX-License-Identifier: Apache-2.0
#include "watchdog/samples/usage_reader.h"

#include <algorithm>
#include <utility>

namespace lagwatch::watchdog {

void UsageReader::Skip(const LoopProbe& probe) {
  policies::LoopUsage before;
  ReadCounts(probe, &before);
  if (probe.notes() != nullptr) notes_read_ = probe.notes()->count();
}

void UsageReader::ReadCounts(const LoopProbe& probe, policies::LoopUsage* usage) {
  const uint64_t ended = probe.ended();  // first: the durations of all of these are counted by now
  uint64_t long_count = 0;
  for (size_t i = 0; i < long_counts_.size(); ++i) {
    const uint64_t now = probe.long_count(i);
    const uint64_t added = now - std::exchange(long_counts_[i], now);
    usage->durations.counts[i] += added;
    long_count += added;
  }
  // One that is just ending may have its duration counted already.
  const uint64_t known_ended = std::max(ended, ended_ + long_count);
  const uint64_t added = known_ended - std::exchange(ended_, known_ended);
  usage->dispatches += added;
  if (probe.is_timed()) {
    usage->durations.counts[0] += added - long_count;
  } else {
    usage->untimed_dispatches += added - long_count;
  }
}

bool UsageReader::ReadNote(const LoopProbe& probe, DispatchHistory::Dispatch* note, uint64_t* lost_count) {
  *lost_count = 0;
  if (probe.notes() == nullptr) return false;
  const DispatchHistory& notes = *probe.notes();
  const uint64_t count = notes.count();
  while (notes_read_ < count) {
    if (notes.ReadNumber(++notes_read_, note)) return true;
    ++*lost_count;
  }
  return false;
}

}  // namespace lagwatch::watchdog
