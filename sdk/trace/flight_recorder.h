// SPDX-License-Identifier: Apache-2.0
// Records the program continuously, and writes traces of events to the spool, in segments of its own: only
// the watchdog writes the watchdog's files.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/counter.h"
#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "base/status.h"
#include "report/seal/sealer.h"
#include "report/spool/spool_writer.h"
#include "sdk/report/program_facts.h"
#include "sdk/report/record_writer.h"
#include "sdk/trace/loop_dispatches.h"
#include "sdk/trace/slow_report.h"
#include "sdk/trace/trace_options.h"
#include "stack/stack_capturer.h"
#include "trace/record/arena.h"
#include "trace/record/recorder.h"

namespace lagwatch::sdk {

// Thread safety: Start and TryStop from one thread at a time; the rest from any.
class FlightRecorder {
 public:
  struct Setup {
    TraceOptions options;
    ProgramFacts facts;
    std::string spool_directory;
    stack::CaptureOptions capture;
    watchdog::LoopRegistry* registry;                  // borrowed
    std::unique_ptr<report::Sealer> sealer = nullptr;  // its own; null: nothing is sealed
  };
  // Errors: those of trace::Recorder and SpoolWriter, no memory. Context: background.
  static base::Result<std::unique_ptr<FlightRecorder>> Start(Setup setup);
  // Writes the traces that were asked for, and ends all threads. False when one does not end in time: then
  // this object must be leaked. Context: background.
  [[nodiscard]] bool TryStop();
  // The process ends: writes the traces that were asked for, if that takes no longer. Its threads go on until
  // the process is gone. Context: background.
  void EndWithProcess(int64_t timeout_ns);
  // Waits for its threads, for as long as that takes: an exception may end the owner's start.
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  // A trace of what led to the event is written in a moment, in the background. False, and counted, when too
  // many are asked for at once. Context: watchdog.
  bool Ask(const TraceEvent& event);
  // The same for a report of a slow dispatch.
  bool AskForReport(const watchdog::SlowDispatch& dispatch);
  // Drops the traces that are asked for and not written yet; waits for one that is being
  // written. Context: background.
  void ForgetAsked();
  // Sets the interval of samples from now on. Context: any.
  void SetInterval(int64_t interval_ns);

  const TraceOptions& options() const { return setup_.options; }
  uint64_t written_count() const { return written_.value(); }
  uint64_t reports_written() const { return reports_written_.value(); }
  // Too many slow dispatches at once, or not to be written.
  uint64_t reports_dropped() const { return reports_dropped_.value(); }
  // Of those that were asked for: too many at once, without content, or not to be written.
  uint64_t dropped_count() const { return dropped_.value(); }
  // The prefix of its segments' names.
  const base::Uuid& spool_session() const { return spool_session_; }

 private:
  static constexpr size_t kMaxAsked = 8;
  static constexpr size_t kMaxSlow = 4;

  explicit FlightRecorder(Setup setup);

  base::Status StartRecording();
  base::Status OpenSpool();
  static void Run(void* self);
  int64_t NextDueNs();
  // The oldest that was asked for, if its time has come.
  bool TakeAsked(TraceEvent* event);
  bool TakeSlow(SlowRequest* request);
  void WriteAsked();
  void WriteReports();
  bool Write(const TraceEvent& event);
  bool Write(const SlowRequest& request);

  Setup setup_;
  LoopDispatches dispatches_;
  base::Uuid spool_session_;
  std::unique_ptr<trace::Arena> arena_;
  std::unique_ptr<trace::Recorder> recorder_;
  std::unique_ptr<report::SpoolWriter> spool_;  // its thread's
  std::mutex writing_mutex_;                    // held while a trace is written
  std::mutex mutex_;                            // of the next four; held for moments only
  std::array<TraceEvent, kMaxAsked> asked_;
  size_t asked_count_ = 0;
  std::array<SlowRequest, kMaxSlow> slow_;
  size_t slow_count_ = 0;
  base::Counter written_;
  base::Counter dropped_;
  base::Counter reports_written_;
  base::Counter reports_dropped_;
  std::atomic<bool> stopping_{false};
  base::Sleeper sleeper_;
  base::QuietThread thread_;
};

}  // namespace lagwatch::sdk
