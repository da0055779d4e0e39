// SPDX-License-Identifier: Apache-2.0
#include "sdk/monitor.h"

#include <unistd.h>

#include <algorithm>

#include "base/env.h"
#include "report/spool/spool_reader.h"
#include "sdk/default_paths.h"
#include "sdk/host_limits.h"
#include "sdk/no_file_size_signal.h"
#include "sdk/run_facts.h"
#include "sdk/spool_keeper.h"
#include "sdk/text_cell.h"
#include "stack/frame_section_file.h"
#include "stack/unwind/table_unwinder.h"

namespace lagwatch::sdk {
namespace {

// A spool with so many segments is perhaps never sent: a program that ends well must not make it grow by a
// file at each start.
constexpr size_t kMaxWaitingSegments = 64;

report::SpoolLimits LimitsOf(const MonitorOptions& options) {
  report::SpoolLimits limits;
  // Whoever sends keeps to the limit and knows what was counted before; this is for when he does not.
  if (options.is_sent) limits.unsent_bytes *= 4;
  return limits;
}

// Of a sealed record, what is inside.
report::RecordType TypeOf(const report::SpoolRecord& record) {
  if (record.type != report::RecordType::kSealed) return record.type;
  const auto sealed = report::DecodeSealed(record.payload);
  return sealed.ok() ? sealed.value().label.type : record.type;
}

}  // namespace

MonitorOptions MonitorOptions::Normalized() const {
  constexpr int64_t kShortestNs = 1 * base::kNsPerMs;
  constexpr int64_t kLongestNs = 3600 * base::kNsPerSecond;
  MonitorOptions normal = *this;
  watchdog::WatchOptions& in = normal.watch;
  const watchdog::Thresholds thresholds = in.thresholds().InRange();
  in.threshold_ns = thresholds.threshold_ns;
  in.anr_threshold_ns = thresholds.anr_threshold_ns;
  in.idle_handler_threshold_ns =
      std::clamp(in.idle_handler_threshold_ns, watchdog::Thresholds::kShortestNs, kLongestNs);
  in.input_threshold_ns = std::clamp(in.input_threshold_ns, watchdog::Thresholds::kShortestNs, kLongestNs);
  if (in.slow_frame_ns != 0)
    in.slow_frame_ns = std::clamp(in.slow_frame_ns, watchdog::Thresholds::kShortestNs, kLongestNs);
  in.slow_dispatch_ns = std::clamp(in.slow_dispatch_ns, kShortestNs, kLongestNs);
  if (in.sensitive_ns != 0)
    in.sensitive_ns = std::clamp(in.sensitive_ns, watchdog::Thresholds::kShortestNs, kLongestNs);
  if (in.usage_period_ns != 0)
    in.usage_period_ns = std::clamp(in.usage_period_ns, 60 * base::kNsPerSecond, 24 * kLongestNs);
  in.check_period_ns = std::clamp(in.check_period_ns, kShortestNs, kLongestNs);
  in.annealing_cap_ns =
      std::clamp(in.annealing_cap_ns, in.check_period_ns, std::max(kLongestNs, in.check_period_ns));
  for (int64_t* threshold_ns : {&normal.start.cold_threshold_ns, &normal.start.warm_threshold_ns})
    *threshold_ns = std::clamp(*threshold_ns, watchdog::Thresholds::kShortestNs, kLongestNs);
  in.sample_interval_ns = std::clamp(in.sample_interval_ns, kShortestNs, kLongestNs);
  in.ring_size = std::clamp(in.ring_size, 1, watchdog::WatchOptions::kMaxRingSize);
  in.dump_interval_ns = std::clamp(in.dump_interval_ns, int64_t{0}, kLongestNs);
  in.max_threads = std::clamp(in.max_threads, 1, 512);
  for (int32_t* percent : {&in.cpu.percent, &in.cpu.average_percent, &in.cpu.background_percent})
    *percent = std::clamp(*percent, 0, 100);
  in.cpu.window_ns = std::clamp(in.cpu.window_ns, watchdog::CpuOptions::kShortestWindowNs, kLongestNs);
  normal.trace = trace.Normalized();
  in.listener = normal.listener.get();
  if (normal.app.empty()) normal.app = ProgramName();
  if (normal.spool_directory.empty()) normal.spool_directory = DefaultSpoolDirectory();
  return normal;
}

base::Result<std::unique_ptr<Monitor>> Monitor::Start(const MonitorOptions& options,
                                                      watchdog::LoopRegistry* registry) {
  if (base::Status status = CheckCanRunHere(options.trace.is_on, options.seccomp_is_allowed); !status.ok())
    return status;
  MonitorOptions normal = options.Normalized();
  ScopedNoFileSizeSignal no_signal;
  std::unique_ptr<Monitor> monitor(new Monitor);
  monitor->process_id_ = getpid();
  monitor->spool_directory_ = normal.spool_directory;
  monitor->listener_ = normal.listener;

  if (normal.create_sealer) {
    auto sealer = normal.create_sealer();
    if (!sealer.ok()) return sealer.status();
    monitor->sealer_ = std::move(sealer).value();
  }
  ProgramFacts facts = SystemFacts();
  facts.app = normal.app;
  facts.app_version = normal.app_version;
  facts.user = normal.user;
  facts.scrubber = policies::Scrubber(normal.scrub_patterns, HomeDirectory());
  monitor->session_id_ = facts.session_id;
  auto spool = report::SpoolWriter::Create(&base::SystemEnv(), normal.spool_directory, facts.session_id,
                                           LimitsOf(normal), normal.spool_sync);
  if (!spool.ok()) return spool.status();
  monitor->spool_ = std::move(spool).value();

  SweepUnsentSpool(&base::SystemEnv(), normal.spool_directory, normal.is_sent, base::SystemClock().WallMs(),
                   monitor->spool_.get());

  RunFacts run_facts = SystemRunFacts();
  run_facts.session_id = facts.session_id;
  run_facts.app = facts.app;
  run_facts.app_version = facts.app_version;
  run_facts.user = facts.user;
  run_facts.is_masked = monitor->sealer_ != nullptr;
  const bool is_crowded = monitor->IsSpoolCrowded();
  monitor->TellHowRunsEnded(run_facts, is_crowded);

  if (normal.dump_signal != 0) {  // without it when it cannot be had
    auto dump_signal = DumpSignal::Install(normal.dump_signal, &registry->dump_requests());
    if (dump_signal.ok()) monitor->dump_signal_ = std::move(dump_signal).value();
  }
  if (normal.feeds_service) monitor->service_ = watchdog::ServiceFeed::FromEnvironment();
  normal.watch.service = monitor->service_.get();

  auto unwinder = stack::CreateTableUnwinder(stack::FrameSectionLoader::FromModuleFiles());
  if (!unwinder.ok()) return unwinder.status();
  auto capturer = stack::StackCapturer::Create(normal.capture, std::move(unwinder).value());
  if (!capturer.ok()) return capturer.status();
  monitor->capturer_ = std::move(capturer).value();

  auto run = RunWriter::Create(normal.spool_directory, run_facts, &ProcessWords().scene, facts.scrubber);
  if (run.ok()) monitor->run_ = std::move(run).value();

  monitor->StartFlightRecorder(normal, facts, registry);
  monitor->sink_ = std::make_unique<ReportSink>(std::move(facts), monitor->spool_.get(), monitor->run_.get(),
                                                &ProcessWords(), is_crowded, monitor->sealer_.get());
  const RunRecord* last_run = monitor->last_run_ ? &monitor->last_run_->record : nullptr;
  monitor->sink_->WatchStart(PlanStart(normal.start, run_facts, last_run), &ProcessStartUp(), registry);
  watchdog::HangSink* sink = monitor->sink_.get();
  if (monitor->flight_recorder_ != nullptr) {
    monitor->trace_triggers_ = std::make_unique<TraceTriggers>(sink, monitor->flight_recorder_.get());
    sink = monitor->trace_triggers_.get();
    if (normal.trace.slow_ns != 0) {
      monitor->slow_traces_ = std::make_unique<SlowTraces>(&normal.watch, monitor->flight_recorder_.get());
      normal.watch.listener = monitor->slow_traces_.get();
    }
  }
  monitor->watchdog_ =
      std::make_unique<watchdog::Watchdog>(normal.watch, registry, monitor->capturer_.get(), sink);
  base::Status status = monitor->watchdog_->Start();
  if (status.ok()) return monitor;
  if (monitor->run_ != nullptr) monitor->run_->Discard();
  if (!monitor->TryStopFlightRecorder()) static_cast<void>(monitor.release());
  return status;
}

void Monitor::StartFlightRecorder(const MonitorOptions& options, const ProgramFacts& facts,
                                  watchdog::LoopRegistry* registry) {
  if (!options.trace.is_on) return;
  FlightRecorder::Setup setup{.options = options.trace,
                              .facts = facts,
                              .spool_directory = options.spool_directory,
                              .capture = options.capture,
                              .registry = registry};
  if (options.create_sealer) {
    auto sealer = options.create_sealer();
    if (!sealer.ok()) return;
    setup.sealer = std::move(sealer).value();
  }
  trace_limit_.SetInterval(options.watch.dump_interval_ns);
  auto recorder = FlightRecorder::Start(std::move(setup));
  if (recorder.ok()) flight_recorder_ = std::move(recorder).value();
}

bool Monitor::TraceNow() {
  const int64_t now_ns = base::SystemClock().MonoNs();
  if (flight_recorder_ == nullptr || !trace_limit_.TryPass(now_ns)) return false;
  return flight_recorder_->Ask({.reason = TraceReason::kApi, .begin_ns = now_ns, .end_ns = now_ns});
}

void Monitor::Stop(std::unique_ptr<Monitor> monitor, const std::function<void(const Monitor&)>& look) {
  bool is_own = monitor->process_id_ == getpid();
  bool is_stopped = is_own && monitor->watchdog_->TryStop();
  // Also when the watchdog hangs: or threads would be looked at for ever.
  is_stopped = is_own && monitor->TryStopFlightRecorder() && is_stopped;
  if (look) look(*monitor);
  if (!is_stopped) {
    static_cast<void>(monitor.release());
    return;
  }
  if (monitor->run_ != nullptr) monitor->run_->MarkEnded();
}

bool Monitor::IsSpoolCrowded() const {
  auto segments =
      report::SpoolReader(&base::SystemEnv(), spool_directory_).List(report::SpoolReader::Include::kFinished);
  return segments.ok() && segments->size() >= kMaxWaitingSegments;
}

void Monitor::TellHowRunsEnded(const RunFacts& now, bool is_crowded) {
  RecordWriter writer(spool_.get(), sealer_.get());
  TellEndedRuns(spool_directory_, now, [&](const EndedRun& run) {
    if (!last_run_ && run.is_of_same_program) last_run_ = run;
    bool is_news = run.reason != policies::ExitReason::kCleanExit || run.record.was_in_lag();
    if (is_crowded && !is_news) return true;
    const std::string usage = run.EncodeUsage();
    if (!usage.empty() && !writer.Append(report::RecordType::kUsage, usage, {run.record.usage_id}))
      return false;
    const base::Uuid& id = run.record.was_in_lag() ? run.record.lag_id : run.record.run.session_id;
    return writer.Append(report::RecordType::kRunEnd, report::EncodeRunEnd(run.ToRunEnd()), {id},
                         {.priority = run.reason == policies::ExitReason::kKilledInLag
                                          ? policies::ReportPriority::kKilledInHang
                                          : policies::ReportPriority::kLag});
  });
  spool_->Seal();
}

void Monitor::WithdrawReports() {
  ScopedNoFileSizeSignal no_signal;
  // Between two rounds nobody else writes, and all that was written is sealed.
  bool is_paused = watchdog_->BorrowSink();
  if (is_paused && trace_triggers_ != nullptr) trace_triggers_->Forget();
  if (flight_recorder_ != nullptr) flight_recorder_->ForgetAsked();
  report::SpoolReader reader(&base::SystemEnv(), spool_directory_);
  auto names = reader.List(report::SpoolReader::Include::kFinished);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (flight_recorder_ != nullptr && name.starts_with(base::ToString(flight_recorder_->spool_session())))
      static_cast<void>(reader.Remove(name));
    if (!name.starts_with(base::ToString(session_id_))) continue;
    auto segment = reader.Read(name);
    if (!segment.ok()) continue;
    auto is_report = [](const report::SpoolRecord& record) {
      const report::RecordType type = TypeOf(record);
      return type == report::RecordType::kReport || type == report::RecordType::kLagEnd;
    };
    auto& records = segment->records;
    if (std::ranges::none_of(records, is_report)) continue;
    std::erase_if(records, is_report);
    if (!records.empty() && !is_paused) continue;
    bool is_kept = std::ranges::all_of(records, [&](const report::SpoolRecord& record) {
      return spool_->Append(record.type, record.payload);
    });
    if (is_kept) static_cast<void>(reader.Remove(name));
  }
  if (!is_paused) return;
  spool_->Seal();
  watchdog_->ReturnSink();
}

void Monitor::AbandonInForkedChild(std::unique_ptr<Monitor> monitor) {
  monitor->spool_->AbandonInForkedChild();
  if (monitor->run_ != nullptr) monitor->run_->AbandonInForkedChild();
  monitor->dump_signal_.reset();
  // The threads and locks of the rest belong to the parent.
  static_cast<void>(monitor.release());
}

}  // namespace lagwatch::sdk
