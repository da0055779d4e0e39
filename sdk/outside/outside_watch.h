// SPDX-License-Identifier: Apache-2.0
// Watches the loops of another process, into which nothing is injected: looks at its threads some ten times a
// second, and lets this process's monitor report what hangs there (docs/design/outside.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/ticks.h"
#include "sdk/monitor.h"
#include "sdk/outside/goroutine_watch.h"
#include "sdk/outside/polled_thread.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

struct OutsideOptions {
  int64_t interval_ns = 100 * base::kNsPerMs;
  std::string threads = "auto";  // auto, main, all, or a thread's name
  bool takes_probable = false;
  // Whether the user has chosen the program, as for `lagwatch run`: its main thread, or threads of the name
  // that was given, have a loop also if they wait for a single descriptor. Of other programs, that may be a
  // client that computes between two questions.
  bool is_chosen = false;
  const KernelWaits* waits = nullptr;             // borrowed; null: loops are only looked at
  const UnansweredWindows* unanswered = nullptr;  // borrowed; null: no compositor says anything
};

// One that only looks, since Report() was not called yet, costs little, and there may be many of them in a
// process: it learns the loops, and finds out when one may hang. A forked child goes on with a copy. Context:
// background.
class OutsideWatch {
 public:
  // Errors: kNotFound; kUnavailable if the process may not be looked at, with what would help.
  static base::Result<std::unique_ptr<OutsideWatch>> Look(const base::Process& process,
                                                          const OutsideOptions& options);
  // From now on hangs are reported, also one that is under way: at most one in a process does so. Errors:
  // those of Monitor::Start.
  base::Status Report(const MonitorOptions& monitor);
  // Ends the monitor: a hang that is under way ends here.
  ~OutsideWatch();

  // Looks at all threads once. Returns false if the process has ended or has become another program.
  bool Poll();
  // Whether a thread that waits as loops do has run since the look before the last one.
  bool is_active() const { return is_active_; }
  // Whether a loop that is to be watched may hang.
  bool is_suspicious() const;
  // Of those that are to be watched.
  bool has_loop() const;
  // Since when one of them has slept where none idles (CLOCK_MONOTONIC), though no loop of it is known; 0:
  // none.
  int64_t FrozenSinceNs() const;
  // Null until Report().
  const Monitor* monitor() const { return monitor_.get(); }

 private:
  OutsideWatch(const base::Process& process, const OutsideOptions& options);

  void FindThreads();
  void SetWindowsOf(PolledThread* thread) const;
  // Gives loops to the threads that are to be watched, and takes them from others.
  void ChooseLoops(int64_t now_ns);
  bool HasLoop(const PolledThread& thread) const;
  bool IsMainWatched() const;
  bool IsWanted(const PolledThread& thread, bool is_main_watched, int64_t now_ns) const;
  template <typename Fits>
  bool HasWantedThread(Fits fits) const;

  OutsideOptions options_;
  base::Process process_;
  std::string program_;  // the file that it runs
  base::TickScale scale_;
  int64_t begin_ns_ = 0;
  int64_t listed_ns_ = 0;
  bool has_run_ = true;  // since then; else there are the same threads, of the same program
  bool is_active_ = true;
  std::unique_ptr<watchdog::LoopRegistry> registry_;  // null until Report(), as the next one
  std::unique_ptr<WindowPings> windows_;              // of the process; null if it has none
  int64_t goroutine_least_ns_ = 0;                    // of a wait that the monitor is to see
  std::unique_ptr<GoroutineWatch> goroutines_;        // null if they are not watched
  PolledThread::Common common_;
  std::vector<std::unique_ptr<PolledThread>> threads_;
  std::unique_ptr<Monitor> monitor_;
};

}  // namespace lagwatch::sdk
