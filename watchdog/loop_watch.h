// SPDX-License-Identifier: Apache-2.0
// What the watchdog remembers of one loop, and what it does about it at each look.
//
//   idle ──dispatch seen──▶ watching ──still in it at the threshold──▶ lagging ──dispatch over──▶ idle
//
// Samples are taken only in the ring's window before a check, so a dispatch that is over by then is never
// disturbed.
#pragma once

#include <cstdint>
#include <span>

#include "base/ticks.h"
#include "base/uuid.h"
#include "policies/annealing.h"
#include "policies/check_schedule.h"
#include "policies/guard.h"
#include "stack/stack_capturer.h"
#include "watchdog/hang_sink.h"
#include "watchdog/loop_registry.h"
#include "watchdog/thread_lister.h"
#include "watchdog/wait_chain.h"
#include "watchdog/watch_options.h"

namespace lagwatch::watchdog {

// What all loops' watches share. Borrowed.
struct WatchTools {
  const WatchOptions* options;
  const base::TickScale* tick_scale;
  const base::Clock* clock;
  stack::StackCapturer* capturer;
  ThreadLister* threads;
  WaitChain* waits;
  HangSink* sink;
  WatchCounters* counters;
};

// Context: watchdog; not thread-safe.
class LoopWatch {
 public:
  // Lends it room for the options' `ring_size` samples. To be called once, before anything else.
  void SetRing(LoopSample* ring) { ring_ = ring; }
  // Looks at the loop, which is in use. Returns when to look again (CLOCK_MONOTONIC).
  int64_t Look(WatchedLoop* loop, const WatchTools& tools);
  // Time passed that was not the program's: it does not count for the dispatch under way. To be told before
  // the next look.
  void Discount(const policies::GuardFindings& findings);
  // Whether no dispatch is under way and none has begun since the look before. Context: watchdog.
  bool IsQuiet() const { return number_ == 0 && is_quiet_; }
  // Finishes the dispatch being watched if it is over by now. Captures nothing.
  void FinishIfOver(const WatchedLoop& loop, const WatchTools& tools);
  // The loop's place is empty, or was taken by another loop.
  void Forget(const WatchedLoop& loop, const WatchTools& tools);

 private:
  static constexpr uint32_t kMaxReportsPerLag = 16;
  static constexpr size_t kMaxTagBytes = 128;

  // The first look at a dispatch, and the last.
  void StartDispatch(const LoopProbe::Dispatch& dispatch, int64_t now_ns, const WatchTools& tools);
  void FinishDispatch(const LoopProbe& probe, const WatchTools& tools);
  bool IsForADebugger(const WatchTools& tools);
  void OpenWindow(const WatchedLoop& loop, const char* tag, int64_t now_ns, const WatchTools& tools);
  void TakeSample(const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools);
  void Check(const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools);
  void Report(const WatchedLoop& loop, std::span<const LoopSample* const> samples,
              const stack::Stack& expensive, int64_t now_ns, const WatchTools& tools);

  LoopSample* ring_ = nullptr;
  uint32_t generation_ = 0;  // of the loop, to notice that its place has a new one
  uint64_t number_ = 0;      // of the dispatch being watched; 0 when idle
  int64_t begin_ns_ = 0;
  policies::GuardFindings guard_;  // since the dispatch began; of one not seen yet, since the last look
  int64_t last_look_ns_ = 0;
  uint64_t last_begun_ = 0;
  bool is_quiet_ = false;
  int64_t next_check_ns_ = 0;
  int64_t next_sample_ns_ = 0;

  // The window before the next check.
  bool is_window_open_ = false;
  size_t sample_count_ = 0;  // the ring holds the last of them
  char tag_[kMaxTagBytes] = {};
  int64_t window_begin_ns_ = 0;
  int64_t thread_cpu_begin_ns_ = 0;
  int64_t process_cpu_begin_ns_ = 0;

  // The lag, if the dispatch has become one.
  bool is_lagging_ = false;
  policies::Annealing annealing_{1, 1};
  uint64_t reported_hash_ = 0;
  uint32_t report_count_ = 0;
  base::Uuid report_ids_[kMaxReportsPerLag];
};

}  // namespace lagwatch::watchdog
