// SPDX-License-Identifier: Apache-2.0
// The parts that the watchdog's watches share, and the identity of the loop that a watch belongs to.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/ticks.h"
#include "stack/stack_capturer.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/events/usage_period.h"
#include "watchdog/facts/machine_facts.h"
#include "watchdog/facts/processor_users.h"
#include "watchdog/loops/loop_registry.h"
#include "watchdog/loops/watch_options.h"
#include "watchdog/samples/sample_rings.h"
#include "watchdog/samples/thread_lister.h"
#include "watchdog/spans/span_source.h"
#include "watchdog/waits/chain/wait_walker.h"

namespace lagwatch::watchdog {

// The parts that all loops' watches share. Borrowed.
struct WatchTools {
  const WatchOptions* options;
  const base::TickScale* tick_scale;
  const base::Clock* clock;
  stack::StackCapturer* capturer;
  ThreadLister* threads;
  WaitWalker* waits;
  HangSink* sink;
  WatchCounters* counters;
  UsagePeriod* usage = nullptr;               // null: loops' usage is not counted
  const LoopRegistry* registry = nullptr;     // null: the application is in the foreground
  SampleRings* rings = nullptr;               // null: each watch has a ring of its own
  ProcessorUsers* processor_users = nullptr;  // null: they are not looked for
  ProcessorFacts* processor_facts = nullptr;  // null: nothing is said of the processors' speed
  const PowerFacts* power_facts = nullptr;    // null: nor of heat and batteries
  // Null: the program does not end while it is watched.
  const std::atomic<int64_t>* end_ns = nullptr;

  // The watched process, and its thread `tid`.
  const base::Process& process() const { return capturer->process(); }
  base::Thread thread(int32_t tid) const { return capturer->thread(tid); }

  // The time up to which the program is watched. It stands still once the program ends by exit(): the rest is
  // lagwatch's own time and that of other libraries' destructors.
  int64_t NowNs() const {
    const int64_t now_ns = clock->MonoNs();
    return end_ns == nullptr ? now_ns : std::min(now_ns, end_ns->load());
  }

  // Whether the program has called exit(): its threads may be in lagwatch's own end, and wait for the
  // watchdog.
  bool has_ended() const { return end_ns != nullptr && clock->MonoNs() > end_ns->load(); }

  bool is_foreground() const { return registry == nullptr || registry->is_foreground(); }
  SpanTools span_tools(int64_t last_look_ns = 0) const {
    return {options, tick_scale, clock, last_look_ns, process()};
  }
};

// A loop's name and thread, copied at the watch's first look at it.
struct LoopThread {
  char loop_name[WatchedLoop::kMaxNameBytes] = {};
  int32_t tid = 0;
  stack::ThreadFiles* files = nullptr;  // null before the first loop, as the next
  const stack::StackCapturer* capturer = nullptr;

  base::Process process;

  base::Thread thread() const { return {process, tid}; }
};

}  // namespace lagwatch::watchdog
