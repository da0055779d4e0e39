// SPDX-License-Identifier: Apache-2.0
// The capturing half of the SDK, put together: registry, watchdog, capturer, spool. It writes reports to disk
// and does no more; uploading is another part, or another process.
#pragma once

#include <lagwatch/options.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "policies/upload/rate_limit.h"
#include "report/spool/spool_writer.h"
#include "sdk/dump_signal.h"
#include "sdk/program_listener.h"
#include "sdk/program_scripts.h"
#include "sdk/report/report_sink.h"
#include "sdk/report/usage_keys.h"
#include "sdk/run/exit_analysis.h"
#include "sdk/run/run_writer.h"
#include "sdk/run/start_up.h"
#include "sdk/trace/flight_recorder.h"
#include "sdk/trace/io_hooks.h"
#include "sdk/trace/slow_traces.h"
#include "sdk/trace/trace_options.h"
#include "sdk/trace/trace_triggers.h"
#include "stack/interpreters/all/interpreter_stacks.h"
#include "stack/stack_capturer.h"
#include "watchdog/events/hang_listener.h"
#include "watchdog/loops/loop_registry.h"
#include "watchdog/loops/watch_options.h"
#include "watchdog/service/service_feed.h"
#include "watchdog/watchdog.h"

namespace lagwatch::sdk {

// Every number is in the range that the table of options has for it.
struct MonitorOptions {
  std::string app;  // empty: the program's file name
  std::string app_version;
  std::string user;
  std::string spool_directory;  // empty: DefaultSpoolDirectory()
  std::string scrub_patterns;   // policies::Scrubber's
  std::string usage_keys;       // UsageKeys'
  report::SyncPolicy spool_sync = report::SyncPolicy::kHangStartAndEnd;
  uint32_t run_pid = 0;  // the process that `lagwatch run` became, if it started this one
  bool is_sent = false;  // a sender sends the spool while the program runs, and keeps it within its limits
  watchdog::WatchOptions watch;
  stack::CaptureOptions capture;
  TraceOptions trace;
  bool seccomp_is_allowed = false;  // filters allow the system calls that docs/configuration.md lists
  int dump_signal = 0;              // 0: none
  bool feeds_service = false;       // the service manager's watchdog, if the environment names one
  StartOptions start;
  std::shared_ptr<watchdog::HangListener> listener;  // may be null; kept as long as the monitor
  lw_scripts scripts = {};                           // borrowed for as long as the monitor runs
  // When set, all that is written is sealed; if it fails, nothing is written.
  std::function<base::Result<std::unique_ptr<report::Sealer>>()> create_sealer;

  // The second threshold is not below the first, and empty strings that have a default are replaced by it.
  MonitorOptions Normalized() const;
};

// Without the program's callbacks and the sealer.
MonitorOptions ToMonitorOptions(const Options& options);

// A process has one at a time at most: it owns the capture signal. Context: background.
class Monitor {
 public:
  // `registry` is borrowed and outlives all monitors. Errors: kIo (spool directory), kUnavailable (no signal
  // or thread available), those of create_sealer.
  static base::Result<std::unique_ptr<Monitor>> Start(const MonitorOptions& options,
                                                      watchdog::LoopRegistry* registry);
  // Stops watching, then frees the monitor; leaks it when its thread does not end in time or is in another
  // process. `look` sees the monitor when it has stopped counting.
  static void Stop(std::unique_ptr<Monitor> monitor,
                   watchdog::StopReason reason = watchdog::StopReason::kStopped,
                   const std::function<void(const Monitor&)>& look = {});
  // The process ends by exit(), and this monitor with it: has the last records written, for which exit()
  // waits a moment, and frees nothing, because its threads may go on until the process is gone. The next
  // start takes the rest from the run's record.
  void EndWithProcess();
  // The process is about to become another program, and may fail to: as Watchdog::ReportNearHangs().
  void ReportBeforeExec();
  // To be called around a fork(), in the parent: no thread of ours may hold a lock that the child inherits.
  void PauseForFork() { watchdog_->PauseForFork(); }
  void ResumeAfterFork() { watchdog_->ResumeAfterFork(); }
  // Removes this run's reports so far from the spool, because no user waited for it. Sent reports stay sent.
  void WithdrawReports();
  // The process ends by exit(), which does not wait for the monitor: removes the segment that was opened
  // ahead, if nothing is in it. Waits for 50 ms at most.
  void RemoveEmptySegment();
  // Requests a trace of the last seconds; returns false if none will be written: nothing is recorded, or one
  // was requested less than options.watch.dump_interval_ns ago. Context: any except signals.
  bool TraceNow();
  // To be called in the child of a fork(): gives up signal and files, and leaks the rest, whose threads are
  // not there.
  static void AbandonInForkedChild(std::unique_ptr<Monitor> monitor);

  const watchdog::WatchCounters& watch_counters() const { return watchdog_->counters(); }
  report::SpoolCounters spool_counters() const { return spool_->counters(); }
  uint64_t reports_too_large() const { return sink_->too_large_count(); }
  // Null when nothing is recorded.
  const FlightRecorder* flight_recorder() const { return flight_recorder_.get(); }
  const stack::CaptureCounters& capture_counters() const { return capturer_->counters(); }
  // The end of the program's last run, if it left a record.
  const std::optional<EndedRun>& last_run() const { return last_run_; }
  // CPU time of the watchdog's thread.
  int64_t WatchdogCpuNs() const { return watchdog_->CpuNs(); }
  // Null if no service manager is notified.
  const watchdog::ServiceFeed* service() const { return service_.get(); }
  // False if it could not be written, for example for lack of space: then the end of this run will
  // not be reported.
  bool has_run_record() const { return run_ != nullptr; }
  const std::string& spool_directory() const { return spool_directory_; }

 private:
  explicit Monitor(const base::Process& process) : process_(process), interpreters_(process) {}

  // If it is not available, reports are still made.
  void StartFlightRecorder(const MonitorOptions& options, const ProgramFacts& facts,
                           watchdog::LoopRegistry* registry);
  // Also starts the watch of files, or turns it off in the options.
  base::Status CreateCapturer(std::unique_ptr<stack::Unwinder> unwinder, MonitorOptions* options);
  base::Status OpenSpool(const MonitorOptions& options, const RunFacts& run_facts);
  // Takes the place of the options' listener, if there is one.
  base::Status StartListener(watchdog::WatchOptions* watch);
  // Adds frames of scripts to captured stacks, also by the program's reader, if there is one.
  base::Status StartScripts(const lw_scripts& scripts);
  // The threads that call functions of the program.
  bool TryStopCallers() {
    const bool is_stopped = program_listener_ == nullptr || program_listener_->TryStop();
    return (program_scripts_ == nullptr || program_scripts_->TryStop()) && is_stopped;
  }
  // Without `spool`, only segments that hold nothing but reports.
  void RemoveReports(report::SpoolWriter* spool);
  void TryRemoveReports(report::SpoolWriter* spool);
  bool TryStopIoHooks() { return io_hooks_ == nullptr || io_hooks_->TryStop(); }
  bool TryStopFlightRecorder() { return flight_recorder_ == nullptr || flight_recorder_->TryStop(); }
  void ReportEndedRuns(const RunFacts& now);
  // Whether so many segments wait in the spool that perhaps no process sends them.
  bool IsSpoolCrowded() const;

  base::Process process_;  // the watched one
  int process_id_ = 0;     // of the process that has the watchdog's thread
  std::string spool_directory_;
  base::Uuid session_id_;
  bool is_crowded_ = false;
  std::shared_ptr<watchdog::HangListener> listener_;
  std::unique_ptr<ProgramListener> program_listener_;  // may be null
  std::unique_ptr<ProgramScripts> program_scripts_;    // may be null
  stack::InterpreterStacks interpreters_;
  std::unique_ptr<DumpSignal> dump_signal_;  // may be null; under the capturer's, if they are the same
  std::unique_ptr<watchdog::ServiceFeed> service_;
  std::unique_ptr<stack::StackCapturer> capturer_;
  std::unique_ptr<IoHooks> io_hooks_;  // may be null
  std::unique_ptr<report::SpoolWriter> spool_;
  std::unique_ptr<report::Sealer> sealer_;  // may be null
  std::optional<EndedRun> last_run_;
  std::unique_ptr<RunWriter> run_;  // may be null
  std::unique_ptr<ReportSink> sink_;
  policies::RateLimit trace_limit_;                  // of TraceNow()
  std::unique_ptr<FlightRecorder> flight_recorder_;  // may be null, as may be the next one
  std::unique_ptr<TraceTriggers> trace_triggers_;
  std::unique_ptr<SlowTraces> slow_traces_;  // likewise
  std::unique_ptr<UsageKeys> usage_keys_;    // null: there are none
  std::unique_ptr<watchdog::Watchdog> watchdog_;
};

}  // namespace lagwatch::sdk
