// SPDX-License-Identifier: Apache-2.0
#include "watchdog/samples/power_samples.h"

#include <algorithm>
#include <utility>

#include "base/process/own_memory.h"

namespace lagwatch::watchdog {
namespace {

constexpr size_t kSlices = policies::CpuWindow::kSlices;

}  // namespace

PowerSamples::PowerSamples() : entries_(base::MapOwnBlock<CountedSample>(kMaxStacks)) {
  for (size_t i = 0; i < kMaxStacks; ++i) places_[i] = static_cast<uint8_t>(i);
}

void PowerSamples::Clear() {
  count_ = 0;
  pending_count_ = 0;
  left_out_ns_ = 0;
}

void PowerSamples::BeginSlice() {
  ++slice_number_;
  for (size_t i = pending_count_; i-- > 0;) {
    if (slice_number_ - pending_[i].slice_number >= kSlices) pending_[i] = pending_[--pending_count_];
  }
  for (size_t i = count_; i-- > 0;) {
    CountedSample& entry = entries_[places_[i]];
    entry.total_ns -= std::exchange(entry.slice_ns[slice_number_ % kSlices], 0);
    if (entry.total_ns <= 0) RemoveAt(i);
  }
}

void PowerSamples::Add(int32_t tid, const stack::Stack& stack, int64_t cpu_ns, int64_t now_ns) {
  if (stack.frame_count == 0 || cpu_ns <= 0) return;
  cpu_ns += TakePending(tid);
  const uint64_t hash = stack.FunctionHash();
  size_t i = Find(hash);
  if (i == count_) {
    i = TakePlace();
    CountedSample& entry = entries_[places_[i]];
    entry.hash = hash;
    entry.total_ns = 0;
    std::ranges::fill(entry.slice_ns, 0);
    entry.sample.stack.CopyFrom(stack);
  }
  CountedSample& entry = entries_[places_[i]];
  entry.sample.mono_ns = now_ns;
  entry.total_ns += cpu_ns;
  entry.slice_ns[slice_number_ % kSlices] += cpu_ns;
}

void PowerSamples::AddAsleep(int32_t tid, int64_t cpu_ns) {
  for (size_t i = 0; i < pending_count_; ++i) {
    if (pending_[i].tid != tid) continue;
    pending_[i].cpu_ns += cpu_ns;
    return;
  }
  if (pending_count_ == kMaxPending) {
    auto lightest = std::ranges::min_element(pending_, {}, &Pending::cpu_ns);
    left_out_ns_ += lightest->cpu_ns;
    *lightest = pending_[--pending_count_];
  }
  pending_[pending_count_++] = {tid, cpu_ns, slice_number_};
}

int64_t PowerSamples::asleep_ns() const {
  int64_t sum_ns = 0;
  for (size_t i = 0; i < pending_count_; ++i) sum_ns += pending_[i].cpu_ns;
  return sum_ns;
}

int64_t PowerSamples::TakePending(int32_t tid) {
  for (size_t i = 0; i < pending_count_; ++i) {
    if (pending_[i].tid != tid) continue;
    const int64_t cpu_ns = pending_[i].cpu_ns;
    pending_[i] = pending_[--pending_count_];
    return cpu_ns;
  }
  return 0;
}

std::span<const LoopSample* const> PowerSamples::Heaviest() {
  std::sort(places_.begin(), places_.begin() + static_cast<ptrdiff_t>(count_),
            [this](uint8_t a, uint8_t b) { return entries_[a].total_ns > entries_[b].total_ns; });
  for (size_t i = 0; i < count_; ++i) {
    CountedSample& entry = entries_[places_[i]];
    entry.sample.use = {};
    entry.sample.use.cpu_ns = entry.total_ns;
    heaviest_[i] = &entry.sample;
  }
  return {heaviest_.data(), count_};
}

size_t PowerSamples::Find(uint64_t hash) const {
  size_t i = 0;
  while (i < count_ && entries_[places_[i]].hash != hash) ++i;
  return i;
}

size_t PowerSamples::TakePlace() {
  if (count_ == kMaxStacks) {
    size_t lightest = 0;
    for (size_t i = 1; i < count_; ++i) {
      if (entries_[places_[i]].total_ns < entries_[places_[lightest]].total_ns) lightest = i;
    }
    left_out_ns_ += entries_[places_[lightest]].total_ns;
    RemoveAt(lightest);
  }
  return count_++;
}

void PowerSamples::RemoveAt(size_t place) { std::swap(places_[place], places_[--count_]); }

}  // namespace lagwatch::watchdog
