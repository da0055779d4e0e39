// SPDX-License-Identifier: Apache-2.0
// Finds a process that uses too much CPU: in the time between two looks, and on average over a window.
//
// One look a second while something runs, which costs a read of the process's CPU clock; if that says that
// the process used more than 5 % of a processor, one of each thread's clock, too. Stacks are sampled, of
// threads over 5 %, only while the process uses more than half of what would be too much. A process that uses
// next to nothing is looked at once a window.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "policies/cpu_load.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/loops/watch_options.h"
#include "watchdog/samples/power_samples.h"
#include "watchdog/samples/thread_loads.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// Context: watchdog; the construction: background (allocates everything in advance). Not thread-safe.
class CpuWatch {
 public:
  CpuWatch(const CpuOptions& options, int32_t max_threads);
  // False when there was no memory.
  bool ok() const { return samples_.ok(); }
  CpuWatch(const CpuWatch&) = delete;
  CpuWatch& operator=(const CpuWatch&) = delete;

  // Looks, if it is time. A window is all foreground or all background: a new one begins when that
  // changes. Returns NextLookNs().
  int64_t Look(bool is_foreground, const WatchTools& tools);
  // When the next look is due (CLOCK_MONOTONIC). An earlier one does no harm.
  int64_t NextLookNs() const {
    return last_look_ns_ + (is_idle_ ? options_.window_ns : options_.interval_ns);
  }

 private:
  static constexpr size_t kMaxReported = 3;

  // A thread that is reported by name.
  struct BusyThread {
    int64_t percent;  // of one processor, between two looks
    ThreadSnapshot snapshot;
    LoopSample sample;
  };
  // The content of a report besides its samples.
  struct Findings {
    HangKind kind;
    int64_t wall_ns;
    int64_t cpu_ns;         // of the process
    int64_t thread_cpu_ns;  // of the busiest thread; 0 when not known
    int32_t limit_percent;
    const char* limit_of;  // "process" or "thread": the one over the limit
  };

  void Restart(const base::Process& process, int64_t now_ns);
  int32_t average_limit() const {
    return is_foreground_ ? options_.average_percent : options_.background_percent;
  }
  // Of the last `wall_ns`, in which the process used `cpu_ns`.
  void JudgeThreads(int64_t wall_ns, int64_t cpu_ns, int64_t now_ns, const WatchTools& tools);
  void JudgeWindow(int64_t now_ns, const WatchTools& tools);
  static bool IsLeftToADebugger(bool is_of_interest, const WatchTools& tools);
  // Captures the stacks of `threads`, the busiest first: the first few for the report, and all for the
  // window if `is_for_window`.
  void Capture(std::span<const policies::ThreadLoad> threads, int64_t wall_ns, bool is_for_window,
               int64_t now_ns, const WatchTools& tools);
  void Report(const Findings& findings, std::span<const LoopSample* const> samples, int64_t now_ns,
              const WatchTools& tools);

  CpuOptions options_;
  int64_t last_look_ns_ = 0;  // 0: there was none
  int64_t last_process_cpu_ns_ = 0;
  bool is_foreground_ = true;
  bool is_idle_ = false;  // the process has used next to nothing since the look before
  int32_t cores_ = 1;
  policies::CpuSpell spell_;
  policies::CpuWindow window_;
  ThreadLoads threads_;
  PowerSamples samples_;
  std::array<BusyThread, kMaxReported> busy_;  // at the last look that captured
  size_t busy_count_ = 0;
  stack::Stack stack_;
};

}  // namespace lagwatch::watchdog
