// SPDX-License-Identifier: Apache-2.0
// The thread that watches: it looks at every loop when that can matter, samples a loop that is stuck, and
// tells the sink of each lag once per different stack.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/sleeper.h"
#include "base/status.h"
#include "base/ticks.h"
#include "stack/stack_capturer.h"
#include "watchdog/hang_sink.h"
#include "watchdog/loop_registry.h"
#include "watchdog/loop_watch.h"
#include "watchdog/watch_options.h"

namespace lagwatch::watchdog {

// Thread safety: Start, Stop, Wake and counters from any thread, Start and Stop not at once.
class Watchdog {
 public:
  // Borrows all but the options; they must outlive Stop(). Context: background; allocates all that will be
  // needed.
  Watchdog(const WatchOptions& options, LoopRegistry* registry, stack::StackCapturer* capturer,
           HangSink* sink);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Starts the thread: named "lagwatch", with every signal blocked. Context: background.
  base::Status Start();
  // Ends it within one capture; a lag under way keeps its report, without an end. Context: background.
  void Stop();
  // Makes the next round happen now. Context: background.
  void Wake() { sleeper_.Wake(); }

  const WatchCounters& counters() const { return counters_; }

 private:
  static void* Run(void* self);
  void RunRounds();
  // Looks at every loop; returns when the next round is due (CLOCK_MONOTONIC).
  int64_t RunRound();

  WatchOptions options_;
  LoopRegistry* registry_;
  HangSink* sink_;
  base::TickScale tick_scale_;
  WatchCounters counters_;
  ThreadLister threads_;
  std::unique_ptr<LoopSample[]> samples_;  // the rings of all watches
  std::unique_ptr<LoopWatch[]> watches_;   // one per place of the registry
  WatchTools tools_;
  base::Sleeper sleeper_;
  std::atomic<bool> stopping_{false};
  bool is_running_ = false;
  pthread_t thread_{};
};

}  // namespace lagwatch::watchdog
