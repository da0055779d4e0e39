// SPDX-License-Identifier: Apache-2.0
// The watchdog's thread: looks at every loop when that can matter, samples a loop that is stuck, and passes
// each hang to the sink once per different stack.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "base/status.h"
#include "base/ticks.h"
#include "policies/time_discount.h"
#include "stack/stack_capturer.h"
#include "watchdog/cpu_watch.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/events/usage_period.h"
#include "watchdog/io/io_dispatches.h"
#include "watchdog/loop_watches.h"
#include "watchdog/loops/dump_requests.h"
#include "watchdog/loops/loop_registry.h"
#include "watchdog/loops/watch_options.h"
#include "watchdog/samples/thread_lister.h"
#include "watchdog/service/service_beats.h"
#include "watchdog/waits/chain/wait_walker.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

enum class StopReason : uint8_t {
  kStopped,      // the program goes on, and so may a hang
  kProcessEnds,  // exit(): a hang that is under way ends now
};

// Thread safety: all from any thread; counters() by one at a time.
class Watchdog {
 public:
  // Borrows all but the options; they must outlive Stop(). Context: background; allocates all that
  // will be needed.
  Watchdog(const WatchOptions& options, LoopRegistry* registry, stack::StackCapturer* capturer,
           HangSink* sink);
  // Ends the thread, for as long as that takes, unless TryStop() did: an exception may end the owner's start.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Starts the thread, named "lagwatch", and returns when it is set up: HangSink::OnStart() is done, or takes
  // longer than a second. Context: background.
  base::Status Start();
  // Ends it. A hang that is over by now gets its end; `reason` decides about one that is under way, which
  // else keeps its report without an end. False when the thread does not end in time, because a disk that it
  // writes to hangs: then this object, and all that it borrows, must be leaked. Context: background.
  [[nodiscard]] bool TryStop(StopReason reason = StopReason::kStopped);
  // The process ends by exit(): from now on no time passes for the program, so that none of what follows is a
  // hang. Has the thread report what is over and what goes on, as TryStop(kProcessEnds), but does not join
  // it; all stays in use. Waits for at most `timeout_ns`, or `hang_timeout_ns` if something is a hang, or may
  // be one by now. Returns false if the thread has not ended in time: the run's record has the rest. Context:
  // background.
  bool EndWithProcess(int64_t timeout_ns, int64_t hang_timeout_ns);
  // Has the thread look once more at what is a hang, or may be one by now, and waits for that; at once if
  // nothing is. All goes on as before. Context: background.
  void ReportNearHangs(int64_t timeout_ns);
  // To be called around a fork(), in the parent, if the watchdog's thread shares the program's descriptor
  // table: stops rounds meanwhile, so that the child inherits no open file of one. Waits for at most 100 ms;
  // elsewhere (see base::HasOwnFiles) there is nothing to inherit, and it does not wait. Returns false if
  // rounds go on. Context: background.
  bool PauseForFork();
  void ResumeAfterFork() {
    if (is_paused_) round_mutex_.unlock();
  }

  // Runs `run(context)` on the watchdog's thread, which owns the descriptors of the sink, between two rounds;
  // waits for at most `begin_timeout_ns` until it begins, and `end_timeout_ns` until it has ended. False when
  // it did not begin: then it never will. One call at a time. Context: background.
  [[nodiscard]] bool RunBetweenRounds(void (*run)(void*), void* context, int64_t begin_timeout_ns,
                                      int64_t end_timeout_ns = base::Sleeper::kForever);

  const WatchCounters& counters() const { return counters_; }
  // CPU time that its thread has used.
  int64_t CpuNs() const;
  // Its thread's id; 0 when it does not run.
  int tid() const { return tid_.load(); }

 private:
  struct Task;

  void SetUp();
  void RunRounds();
  void NoteNearHang();
  void RunTaskIfAsked();
  // Reports dispatches that used files for too long. Returns the time of the next look, as DumpIfLate().
  void LookAtIo();
  void ReportIo();
  // False when a fork takes too long: the round is then to go on without the lock.
  bool TryLockRound();
  // Looks at every loop; returns when the next round is due (CLOCK_MONOTONIC).
  int64_t RunRound();
  // Makes the dump that was asked for, if one was.
  void DumpIfAsked();
  // Captures all threads and passes them to the sink, whether or not a loop hangs, as a report of kind kDump.
  // Its tag is the request's reason. It is the report of `loop`'s thread, or of the program's first thread
  // if `loop` is null: that thread's stack is the expensive one, and its wait chain is included. `late`: of
  // the thread that should have notified the service manager; null: that is not the reason.
  void MakeDump(const DumpRequest& request, const WatchedLoop* loop,
                const ServiceBeats::Late* late = nullptr);
  // Makes a dump if the program is late with its notification of the service manager. Returns the time of the
  // next look.
  int64_t DumpIfLate();
  // The program may replace the capture signal's handler at any time.
  void KeepSignalNowAndThen();
  // Notifies the service manager, while no loop is in a hang. Returns the time of the next notification;
  // while a loop is, the next look decides.
  int64_t FeedIfWell();
  // Sleeps until `next_ns`, or, when all loops are quiet, until one begins a dispatch (or CPU use is to
  // be looked at).
  void Sleep(int64_t next_ns);
  uint64_t CountReportsTried() const;
  // Time that looks have waited so far, for captures and a listener; not for a processor or a disk.
  int64_t WaitedInLooksNs() const {
    return static_cast<int64_t>(tools_.capturer->counters().waited_ns.value()) + listener_.called_ns();
  }
  // Accounts for the time of a look, before which looks had waited so long and so many reports
  // had been tried.
  void AccountForLook(int64_t waited_ns_before, uint64_t reports_before);
  // Takes off the time since the last call that was not the program's; in it this thread wanted to wait for
  // so long at most.
  void DiscountForeignTime(int64_t wanted_wait_ns);
  // Looks from now on at the loops that have something to see.
  void ActivateWoken();
  // Looks no more at loops that are quiet: they add themselves to the woken ones when they begin a dispatch.
  // True when no other is left.
  bool ParkQuietLoops();
  // Brings the usage up to date for loops that are not looked at.
  // Of loops that are not looked at.
  template <typename Visit>
  void ForEachParked(Visit visit);
  void CollectParkedUsage();

  // Passes the loops' usage to the sink: so far, or finally when that is due.
  void ReportUsage(uint64_t reports_before);
  // At the end.
  void ReportLastUsage();
  UsageEvent DescribeUsage(policies::SuppressedCounts* suppressed, bool is_alone) const;
  // Everything that was suppressed since the watchdog was made, except for the sink's counts.
  policies::SuppressedCounts CountSuppressed() const;
  void BeginUsagePeriod();

  WatchOptions options_;
  LoopRegistry* registry_;
  HangSink* sink_;
  base::TickScale tick_scale_;
  WatchCounters counters_;
  ThreadLister threads_;
  WaitWalker waits_{WaitWalker::Reach::kPeers};
  ProcessorUsers processor_users_;
  ProcessorFacts processor_facts_;
  PowerFacts power_facts_;
  LoopWatches watches_;
  std::unique_ptr<CpuWatch> cpu_;  // null: CPU is not watched
  std::unique_ptr<IoDispatches> io_;  // null: the files that dispatches use are not watched
  UsagePeriod usage_;              // of the period under way
  base::Uuid usage_id_;
  int64_t usage_begin_wall_ms_ = 0;
  int64_t usage_tried_ns_ = 0;   // the last time that usage was reported, or begun
  int64_t usage_so_far_ns_ = 0;  // the last time that usage so far was reported
  policies::SuppressedCounts suppressed_reported_{};
  WatchTools tools_;
  TimedListener listener_;
  std::unique_ptr<LoopSample> dump_sample_;
  int64_t begin_ns_ = 0;  // of the thread
  int64_t last_signal_check_ns_ = 0;
  std::atomic<int> tid_{0};              // 0 when it does not run
  std::atomic<int64_t> last_cpu_ns_{0};  // when it ended
  std::mutex round_mutex_;               // held during a round and a fork
  bool is_paused_ = false;               // the fork's
  std::atomic<bool> has_own_files_{false};
  std::atomic<bool> is_set_up_{false};
  base::Sleeper starter_;
  std::atomic<Task*> task_{nullptr};
  base::Sleeper task_done_;
  bool is_fork_slow_ = false;  // the watchdog's: it has waited for this fork already
  policies::TimeDiscount time_discount_;
  int64_t last_account_ns_ = 0;  // of the last DiscountForeignTime()
  struct ProcessCpu {
    int64_t mono_ns = 0;
    int64_t cpu_ns = 0;
  };
  bool was_foreground_ = true;
  ProcessCpu process_cpu_;  // by a moment ago
  int64_t waited_ns_ = 0;   // since the last reading of `time_discount_`
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> end_ns_{INT64_MAX};  // of the program's time
  std::atomic<bool> is_near_hang_{false};   // as of the last round
  std::atomic<StopReason> stop_reason_{StopReason::kStopped};
  base::QuietThread thread_;
};

}  // namespace lagwatch::watchdog
