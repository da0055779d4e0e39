// SPDX-License-Identifier: Apache-2.0
// The last samples of a loop's thread, which all spans of the loop share.
//
// Invariants: samples are numbered from 0; the ring holds the last `WatchOptions::ring_size` of them. One
// sample may be outstanding: its place is being written by the thread, and it has no number before Collect().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "policies/expensive_stack.h"
#include "policies/sample_time.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/spans/watched_spans.h"
#include "watchdog/thread_time.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// Some of the ring's samples, oldest first. Valid until the next sample.
class SampleList {
 public:
  void Add(const LoopSample* sample) { samples_[count_++] = sample; }
  bool empty() const { return count_ == 0; }
  std::span<const LoopSample* const> all() const { return {samples_, count_}; }

 private:
  size_t count_ = 0;
  const LoopSample* samples_[WatchOptions::kMaxRingSize];
};

// Context: watchdog; not thread-safe.
class SampleRing {
 public:
  // All are borrowed.
  SampleRing(const WatchedSpans* spans, ThreadTime* time) : spans_(spans), time_(time) {}
  SampleRing(const SampleRing&) = delete;
  SampleRing& operator=(const SampleRing&) = delete;

  // Lends it room for `ring_size` samples, where the tools have no rings. To be called once, before the rest.
  void SetRoom(LoopSample* room) { room_ = room; }
  // Takes room from the tools' rings, if it has none. False when there is no memory.
  bool TryTakeRoom(const WatchTools& tools);
  void GiveRoomBack(SampleRings* rings) { rings->GiveBack(std::exchange(room_, nullptr)); }

  // The number of samples taken so far.
  uint64_t count() const { return count_; }
  // When the next sample is due, while a window is open.
  int64_t next_sample_ns() const { return next_sample_ns_; }
  // From now on there is one each `interval_ns`; the first at `mono_ns`.
  void SetNextSample(int64_t mono_ns, int64_t interval_ns) {
    next_sample_ns_ = mono_ns;
    interval_ns_ = interval_ns;
  }

  // Samples the loop's thread, once for all spans that go on. Unless it `is_needed_now`, the sample is
  // outstanding until the next look: nothing waits for the answer of a thread that runs.
  void Take(const WatchedLoop& loop, int64_t now_ns, bool is_needed_now, const WatchTools& tools);
  // Adds the outstanding sample, if there is one and a span of it still goes on. A thread that has had no
  // processor since it was asked may still answer, unless the watchdog gives up.
  enum class Patience : uint8_t { kGiveUp, kKeepAsking };
  void Collect(const WatchedLoop& loop, Patience patience, const WatchTools& tools);
  // Adds a sample without a stack, for that reason, with the thread's `use`. Null when there is no memory.
  const LoopSample* AddWithoutStack(stack::NoStackReason reason, const policies::ThreadUse& use,
                                    int64_t now_ns, const WatchTools& tools);

  // The place of sample `number`, which is one of the last `ring_size`, or the next.
  LoopSample& At(uint64_t number, const WatchTools& tools) const {
    return room_[number % static_cast<uint64_t>(tools.options->ring_size)];
  }
  // The samples from number `first` on, as far as the ring has them.
  SampleList From(uint64_t first, const WatchTools& tools) const;

 private:
  void Ask(int32_t tid, const ThreadTime::Moment& moment, bool is_needed_now, LoopSample* sample,
           const WatchTools& tools);
  // The place of the next sample, dated. Null when there is no memory.
  LoopSample* Next(int64_t now_ns, const WatchTools& tools);

  const WatchedSpans* spans_;
  ThreadTime* time_;
  LoopSample* room_ = nullptr;
  uint64_t count_ = 0;
  int64_t next_sample_ns_ = 0;
  int64_t interval_ns_ = 0;
  bool is_outstanding_ = false;
};

policies::SampleAnswer AnswerOf(const LoopSample& sample);

// Selects the sample of a hang that represents its time best: of `samples`, oldest first, 1 to
// WatchOptions::kMaxRingSize. Each stack stands for its time (policies/sample_time.h); a failure must not win
// by repeating. Where none has a stack, the newest.
const LoopSample& PickExpensiveSample(std::span<const LoopSample* const> samples,
                                      policies::ExpensiveStackRule rule);

}  // namespace lagwatch::watchdog
