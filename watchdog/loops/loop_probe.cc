// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_probe.h"

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/process/safe_memory.h"
#include "watchdog/loops/dispatch_tag.h"

namespace lagwatch::watchdog {

LoopProbe::Dispatch LoopProbe::Read() const {
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    Dispatch dispatch;
    // Acquire, each: it pairs with Begin's stores and keeps the loads in this order.
    dispatch.number = words_.begun.load(std::memory_order_acquire);
    dispatch.begin_ticks = words_.begin_ticks.load(std::memory_order_acquire);
    dispatch.tag = words_.tag.load(std::memory_order_acquire);
    if (words_.begun.load(std::memory_order_acquire) != dispatch.number) continue;
    if (IsStillIn(dispatch.number)) return dispatch;
    break;
  }
  return {0, 0, nullptr};
}

uint64_t LoopProbe::SlowDurationTicks(uint64_t number) const {
  // Acquire, each: it keeps the loads in this order. The number is zero while Keep is between its
  // stores, so a duration never goes with another dispatch's number.
  if (slow_number_.load(std::memory_order_acquire) != number) return 0;
  uint64_t duration_ticks = slow_duration_ticks_.load(std::memory_order_acquire);
  return slow_number_.load(std::memory_order_acquire) == number ? duration_ticks : 0;
}

void LoopProbe::SetLimits(const Limits& limits) {
  // Relaxed throughout: limits that are one dispatch old are as good.
  slow_ticks_.store(limits.slow_ticks, std::memory_order_relaxed);
  history_ticks_.store(limits.history_ticks, std::memory_order_relaxed);
  cpu_ticks_.store(limits.cpu_ticks, std::memory_order_relaxed);
  note_ticks_.store(limits.note_ticks, std::memory_order_relaxed);
  kept_ticks_.store(KeptTicks(), std::memory_order_relaxed);
  bool is_new = cpu_read_interval_ticks_.exchange(limits.cpu_read_interval_ticks) == 0;
  if (is_new && limits.cpu_ticks != kNever) cpu_read_due_ticks_.store(0);
}

void LoopProbe::SetFirstLimits() {
  cpu_read_due_ticks_.store(0);
  if (note_ticks_.load() != kNever) return;  // an earlier loop's of this place
  for (std::atomic<uint64_t>* limit : {&history_ticks_, &cpu_ticks_, &note_ticks_}) limit->store(kLongTicks);
  kept_ticks_.store(KeptTicks());
}

void LoopProbe::SetObserver(LoopObserver* observer) {
  observer_.store(observer, std::memory_order_release);  // publishes it
  kept_ticks_.store(KeptTicks());
}

void LoopProbe::WakeWatchdog() {
  // Acquire: pairs with AskForWake.
  if (words_.is_watchdog_asleep.exchange(0, std::memory_order_acquire) != 0)
    woken_->Add(this, look_within_ns_.load(std::memory_order_relaxed));
}

void LoopProbe::BeginInside(const char* tag) {
  if (is_pairless()) {
    const uint64_t ticks = base::ReadTicks();
    if (words_.nested == 0) {
      is_first_a_turn_ = true;
      SetOpenTag(set_aside_ = words_.nested = 1, words_.tag.load(std::memory_order_relaxed));
    }
    EndAt(ticks);
    BeginNext(words_.begun.load(std::memory_order_relaxed) + 1, tag, ticks);
    return;
  }
  set_aside_ = std::min(set_aside_, words_.nested);  // ends without a time stamp know of `nested` only
  ++words_.nested;
  SetOpenTag(words_.nested + 1, tag);
}

void LoopProbe::EndInside() {
  // Of a pair that began while the dispatch was under way.
  if (number_of_own() != 0 && !is_pairless() && words_.nested > set_aside_) {
    --words_.nested;
    return;
  }
  // The outermost pair since the wait, or one that was open before: the next one outside goes on.
  const bool is_last_inside = number_of_own() != 0 && !is_pairless();
  const uint64_t ticks = base::ReadTicks();
  EndAt(ticks);
  if (!is_last_inside) --words_.nested;
  set_aside_ = words_.nested;
  if (words_.nested == 0) return;
  const char* tag = OpenTag(words_.nested);
  if (words_.nested == 1 && is_first_a_turn_) words_.nested = 0;
  BeginPairless(tag, ticks);
}

void LoopProbe::SetAside(uint64_t ticks) {
  if (!is_pairless()) {
    set_aside_ = std::min(set_aside_, words_.nested);  // see BeginInside
    SetOpenTag(set_aside_ + 1, words_.tag.load(std::memory_order_relaxed));
    if (words_.nested++ == 0) is_first_a_turn_ = false;
  }
  set_aside_ = words_.nested;
  EndAt(ticks);
}

void LoopProbe::BeginPairless(const char* tag, uint64_t ticks) {
  pairless_number_ = words_.begun.load(std::memory_order_relaxed) + 1;
  set_aside_ = words_.nested;
  BeginNext(pairless_number_, tag, ticks);
}

void LoopProbe::Reset() {
  words_.nested = 0;
  set_aside_ = 0;
  is_first_a_turn_ = false;
  pairless_number_ = 0;
  open_tags_.fill(nullptr);
  words_.ended.store(words_.begun.load());
  // Another thread's clock.
  cpu_read_interval_ticks_.store(0);
  cpu_read_due_ticks_.store(kNever);
  if (history_ != nullptr) history_->Reset();
}

void LoopProbe::Keep(uint64_t duration_ticks) {
  // Relaxed loads: the words are this thread's own, and any limit will do.
  const bool is_timed = words_.begin_ticks.load(std::memory_order_relaxed) != kUntimed;
  LoopObserver* observer = observer_.load(std::memory_order_acquire);  // pairs with SetObserver
  if (observer != nullptr && is_timed) {
    const uint64_t begin_ticks = words_.begin_ticks.load(std::memory_order_relaxed);
    observer->OnDispatchEnd(*this, begin_ticks + duration_ticks, duration_ticks,
                            words_.tag.load(std::memory_order_relaxed));
  }
  uint64_t kept = kept_ticks_.load(std::memory_order_relaxed);
  const bool is_requested = kept == kRequested;
  if (is_requested) kept_ticks_.compare_exchange_strong(kept, KeptTicks());
  if (!is_requested && duration_ticks <= LeastTicks()) return;
  const bool is_history = duration_ticks > history_ticks_.load(std::memory_order_relaxed);
  if (is_timed && (is_history || track_.load(std::memory_order_relaxed) != nullptr))
    KeepWithTag(duration_ticks, is_history);
  if (!is_timed || duration_ticks <= slow_ticks_.load(std::memory_order_relaxed)) return;
  uint64_t number = words_.begun.load(std::memory_order_relaxed);
  // Release, each: see SlowDurationTicks.
  slow_number_.store(0, std::memory_order_release);
  slow_duration_ticks_.store(duration_ticks, std::memory_order_release);
  slow_number_.store(number, std::memory_order_release);
}

void LoopProbe::KeepWithTag(uint64_t duration_ticks, bool is_history) {
  if (is_history) CountLong(duration_ticks);
  DispatchHistory* track = track_.load(std::memory_order_acquire);  // pairs with SetTrack
  if (track == nullptr && history_ == nullptr) return;
  int error = errno;
  DispatchHistory::Dispatch dispatch{};
  // Relaxed loads: own thread's, all of these.
  dispatch.begin_ticks = words_.begin_ticks.load(std::memory_order_relaxed);
  dispatch.duration_ticks = duration_ticks;
  dispatch.number = static_cast<uint32_t>(words_.begun.load(std::memory_order_relaxed));
  dispatch.tid = thread_.tid;
  if (queue_wait_number_ == words_.begun.load(std::memory_order_relaxed))
    dispatch.queue_wait_ns = queue_wait_ns_;
  const char* tag = words_.tag.load(std::memory_order_relaxed);
  if (tag != nullptr && !WriteFunctionTag(tag, dispatch.tag))
    base::CopyOwnString(tag, dispatch.tag, sizeof dispatch.tag);
  if (track != nullptr) track->Add(dispatch);
  if (is_history && history_ != nullptr) KeepInHistory(dispatch);
  errno = error;
}

void LoopProbe::KeepInHistory(DispatchHistory::Dispatch dispatch) {
  bool is_cpu_known = cpu_read_due_ticks_.load(std::memory_order_relaxed) != kNever && cpu_ns_ != 0;
  if (is_cpu_known && dispatch.duration_ticks > cpu_ticks_.load(std::memory_order_relaxed)) {
    int64_t before_ns = cpu_ns_;
    ReadCpu(dispatch.begin_ticks + dispatch.duration_ticks);
    dispatch.cpu_ns = std::max<int64_t>(0, cpu_ns_ - before_ns);  // after a fork it is another thread's
  }
  history_->Add(dispatch);
  DispatchHistory* notes = notes_.load(std::memory_order_relaxed);  // set before the loop began
  if (notes != nullptr && dispatch.duration_ticks > note_ticks_.load(std::memory_order_relaxed))
    notes->Add(dispatch);
}

void LoopProbe::BeginDue(uint64_t ticks) {
  if (first_begin_ns_.load(std::memory_order_relaxed) == 0)  // only this thread writes it
    first_begin_ns_.store(base::SystemClock().MonoNs(), std::memory_order_relaxed);
  ReadCpu(ticks);
}

void LoopProbe::CountLong(uint64_t duration_ticks) {
  // Relaxed: only this thread writes it, and the end publishes it.
  size_t bucket =
      policies::DurationHistogram::BucketOf(duration_ticks, history_ticks_.load(std::memory_order_relaxed));
  std::atomic<uint64_t>& count = long_counts_[bucket];
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void LoopProbe::ReadCpu(uint64_t ticks) {
  constexpr int kOwnThread = 0;
  cpu_ns_ = thread_.process.is_own() ? base::ThreadCpuNs(kOwnThread) : thread_.CpuNs();
  uint64_t interval_ticks = cpu_read_interval_ticks_.load(std::memory_order_relaxed);
  if (interval_ticks == 0 && note_ticks_.load(std::memory_order_relaxed) != kNever)
    interval_ticks = kLongTicks;
  cpu_read_due_ticks_.store(interval_ticks == 0 ? kNever : ticks + interval_ticks, std::memory_order_relaxed);
}

void WokenProbes::Add(LoopProbe* probe, int64_t look_within_ns) {
  if (!probe->is_listed_.exchange(true)) {
    LoopProbe* newest = newest_.load(std::memory_order_relaxed);  // the exchange decides
    do {
      probe->next_woken_ = newest;
    } while (!newest_.compare_exchange_weak(newest, probe));
  }
  const int64_t now_ns = base::SystemClock().MonoNs();
  const bool is_soon = look_within_ns != kAtOnce && now_ns + look_within_ns >= next_look_ns_.load();
  if (is_soon) return;
  int64_t none_ns = 0;
  woken_ns_.compare_exchange_strong(none_ns, now_ns, std::memory_order_relaxed);  // a date, of the first
  watchdog_->Wake();
}

}  // namespace lagwatch::watchdog
