// SPDX-License-Identifier: Apache-2.0
#include "sdk/monitor.h"

#include <unistd.h>

#include <algorithm>
#include <exception>

#include "base/process/env.h"
#include "base/process/quiet_thread.h"
#include "base/process/run_guarded.h"
#include "base/system/process.h"
#include "report/spool/spool_reader.h"
#include "sdk/host_limits.h"
#include "sdk/report/record_writer.h"
#include "sdk/run/default_paths.h"
#include "sdk/run/run_facts.h"
#include "sdk/run/text_cell.h"
#include "stack/elf/frame_section_file.h"
#include "stack/unwind/table_unwinder.h"

namespace lagwatch::sdk {
namespace {

// A spool with so many segments is perhaps never sent: a program that ends well must not make it grow by a
// file at each start.
constexpr size_t kMaxWaitingSegments = 64;

report::SpoolLimits LimitsOf(const MonitorOptions& options) {
  report::SpoolLimits limits;
  // The sender keeps to the limit and knows what was counted before; this is for when it does not.
  if (options.is_sent) limits.unsent_bytes *= 4;
  return limits;
}

// Of a sealed record, what is inside.
report::RecordType TypeOf(const report::OwnedRecord& record) {
  if (record.type != report::RecordType::kSealed) return record.type;
  const auto sealed = report::DecodeSealed(record.payload);
  return sealed.ok() ? sealed.value().label.type : record.type;
}

RunFacts RunFactsOf(const ProgramFacts& facts, uint32_t run_pid, bool is_masked) {
  RunFacts run_facts = SystemRunFacts();
  run_facts.session_id = facts.session_id;
  run_facts.app = facts.app;
  run_facts.app_version = facts.app_version;
  run_facts.user = facts.user;
  run_facts.run_pid = run_pid;
  run_facts.is_masked = is_masked;
  return run_facts;
}

}  // namespace

MonitorOptions MonitorOptions::Normalized() const {
  MonitorOptions normal = *this;
  const watchdog::Thresholds thresholds = watch.thresholds().InRange();
  normal.watch.threshold_ns = thresholds.threshold_ns;
  normal.watch.anr_threshold_ns = thresholds.anr_threshold_ns;
  normal.watch.recheck_cap_ns = std::max(watch.recheck_cap_ns, watch.check_period_ns);
  normal.watch.listener = listener.get();
  if (app.empty()) normal.app = ProgramName();
  if (spool_directory.empty()) normal.spool_directory = DefaultSpoolDirectory();
  return normal;
}

base::Result<std::unique_ptr<Monitor>> Monitor::Start(const MonitorOptions& options,
                                                      watchdog::LoopRegistry* registry) {
  const bool is_outside = !registry->process().is_own();
  if (base::Status status = CheckCanRunHere(options.trace.records(), options.seccomp_is_allowed);
      !is_outside && !status.ok())
    return status;
  base::PrepareFences();  // before there are threads of ours
  MonitorOptions normal = options.Normalized();
  ScopedNoFileSizeSignal no_signal;
  std::unique_ptr<Monitor> monitor(new Monitor(registry->process()));
  monitor->process_id_ = getpid();
  monitor->spool_directory_ = normal.spool_directory;
  monitor->listener_ = normal.listener;

  if (normal.create_sealer) {
    auto sealer = normal.create_sealer();
    if (!sealer.ok()) return sealer.status();
    monitor->sealer_ = std::move(sealer).value();
  }
  ProgramFacts facts = SystemFacts(registry->process());
  facts.app = normal.app;
  facts.app_version = normal.app_version;
  facts.user = normal.user;
  facts.scrubber = policies::Scrubber(normal.scrub_patterns, HomeDirectory());
  monitor->session_id_ = facts.session_id;
  RunFacts run_facts;
  base::Status opened(base::StatusCode::kUnavailable, "no thread to open the spool with");
  // It is done on another thread: the program's other threads use this one's descriptor table meanwhile.
  const bool has_run = base::RunWithOwnFiles([&] {
    run_facts = RunFactsOf(facts, normal.run_pid, monitor->sealer_ != nullptr);
    opened = monitor->OpenSpool(normal, run_facts);
  });
  if (!has_run || !opened.ok()) return opened;

  if (normal.dump_signal != 0 && !is_outside) {  // continues without it if it is not available
    auto dump_signal = DumpSignal::Install(normal.dump_signal, &registry->dump_requests());
    if (dump_signal.ok()) monitor->dump_signal_ = std::move(dump_signal).value();
  }
  if (normal.feeds_service && !is_outside) monitor->service_ = watchdog::ServiceFeed::FromEnvironment();
  normal.watch.service = monitor->service_.get();

  auto unwinder = stack::CreateTableUnwinder(stack::FrameSectionLoader::FromModuleFiles());
  if (!unwinder.ok()) return unwinder.status();
  if (base::Status status = monitor->CreateCapturer(std::move(unwinder).value(), &normal); !status.ok())
    return status;

  // A record that cannot be made, for lack of a thread or of room, is counted.
  // From outside, a record of this process would say nothing of the watched one.
  const bool has_record = !is_outside && base::RunWithOwnFiles([&] {
    auto run = RunWriter::Create(normal.spool_directory, run_facts, &ProcessContext().scene, facts.scrubber);
    if (run.ok()) monitor->run_ = std::move(run).value();
  });
  static_cast<void>(has_record);
  registry->watchdog_sleeper().SetSharedWord(monitor->run_ != nullptr ? monitor->run_->call_word() : nullptr);
  base::Status callers = monitor->StartListener(&normal.watch);
  if (callers.ok()) callers = monitor->StartScripts(normal.scripts);
  if (!callers.ok()) {
    if (monitor->run_ != nullptr) monitor->run_->Discard();
    const bool is_stopped = monitor->TryStopIoHooks();
    if (!monitor->TryStopCallers() || !is_stopped) static_cast<void>(monitor.release());
    return callers;
  }
  if (!is_outside) monitor->StartFlightRecorder(normal, facts, registry);
  monitor->sink_ =
      std::make_unique<ReportSink>(std::move(facts), monitor->spool_.get(), monitor->run_.get(),
                                   &ProcessContext(), monitor->is_crowded_, monitor->sealer_.get());
  if (normal.watch.listener != nullptr) monitor->sink_->MakeTexts();
  const RunRecord* last_run = monitor->last_run_ ? &monitor->last_run_->record : nullptr;
  if (!is_outside)
    monitor->sink_->WatchStart(PlanStart(normal.start, run_facts, last_run), &ProcessStartUp(), registry);
  watchdog::HangSink* sink = monitor->sink_.get();
  if (monitor->flight_recorder_ != nullptr) {
    monitor->trace_triggers_ =
        std::make_unique<TraceTriggers>(sink, monitor->flight_recorder_.get(), normal.watch.dump_interval_ns);
    sink = monitor->trace_triggers_.get();
    if (normal.trace.is_on && normal.trace.slow_ns != 0) {
      monitor->slow_traces_ = std::make_unique<SlowTraces>(&normal.watch, monitor->flight_recorder_.get());
      normal.watch.listener = monitor->slow_traces_.get();
    }
  }
  if (!is_outside && !normal.usage_keys.empty())
    monitor->usage_keys_ = std::make_unique<UsageKeys>(normal.usage_keys, &ProcessContext());
  normal.watch.values = monitor->usage_keys_.get();
  monitor->watchdog_ =
      std::make_unique<watchdog::Watchdog>(normal.watch, registry, monitor->capturer_.get(), sink);
  base::Status status = monitor->sink_->ok()
                            ? monitor->watchdog_->Start()
                            : base::Status(base::StatusCode::kUnavailable, "no memory to write reports in");
  if (status.ok()) return monitor;
  if (monitor->run_ != nullptr) monitor->run_->Discard();
  bool is_stopped = monitor->TryStopFlightRecorder();
  is_stopped = monitor->TryStopIoHooks() && is_stopped;
  if (!monitor->TryStopCallers() || !is_stopped) static_cast<void>(monitor.release());
  return status;
}

base::Status Monitor::CreateCapturer(std::unique_ptr<stack::Unwinder> unwinder, MonitorOptions* options) {
  if (!process_.is_own()) {
    auto capturer = stack::StackCapturer::CreateOutside(process_, options->capture, std::move(unwinder));
    if (!capturer.ok()) return capturer.status();
    capturer_ = std::move(capturer).value();
    return {};
  }
  auto capturer = stack::StackCapturer::Create(options->capture, std::move(unwinder));
  if (!capturer.ok()) return capturer.status();
  capturer_ = std::move(capturer).value();
  if (options->watch.io.limit_ns == 0) return {};
  auto io_hooks = IoHooks::Start(options->watch.io);
  if (io_hooks.ok()) {
    io_hooks_ = std::move(io_hooks).value();
  } else {
    options->watch.io.limit_ns = 0;  // continues without
    base::failure_count.fetch_add(1);
  }
  return {};
}

base::Status Monitor::OpenSpool(const MonitorOptions& options, const RunFacts& run_facts) {
  auto spool = report::SpoolWriter::Create(&base::SystemEnv(), options.spool_directory, run_facts.session_id,
                                           LimitsOf(options), options.spool_sync);
  if (!spool.ok()) return spool.status();
  spool_ = std::move(spool).value();
  SweepUnsentSpool(&base::SystemEnv(), options.spool_directory, options.is_sent, base::SystemClock().WallMs(),
                   spool_.get());
  is_crowded_ = IsSpoolCrowded();
  if (process_.is_own()) ReportEndedRuns(run_facts);
  return {};
}

base::Status Monitor::StartListener(watchdog::WatchOptions* watch) {
  if (watch->listener == nullptr) return {};
  auto listener = ProgramListener::Start(watch->listener);
  if (!listener.ok()) return listener.status();
  program_listener_ = std::move(listener).value();
  watch->listener = program_listener_.get();
  return {};
}

base::Status Monitor::StartScripts(const lw_scripts& scripts) {
  capturer_->SetScripts(&interpreters_);
  if (scripts.read_stack == nullptr) return {};
  auto reader = ProgramScripts::Start(scripts);
  if (!reader.ok()) return reader.status();
  program_scripts_ = std::move(reader).value();
  interpreters_.SetNext(program_scripts_.get());
  return {};
}

void Monitor::StartFlightRecorder(const MonitorOptions& options, const ProgramFacts& facts,
                                  watchdog::LoopRegistry* registry) {
  if (!options.trace.records()) return;
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
  const bool is_on = flight_recorder_ != nullptr && flight_recorder_->options().is_on;
  if (!is_on || !trace_limit_.TryPass(now_ns)) return false;
  return flight_recorder_->Ask({.reason = TraceReason::kApi, .begin_ns = now_ns, .end_ns = now_ns});
}

void Monitor::Stop(std::unique_ptr<Monitor> monitor, watchdog::StopReason reason,
                   const std::function<void(const Monitor&)>& look) {
  bool is_own = monitor->process_id_ == getpid();
  bool is_stopped = is_own && monitor->watchdog_->TryStop(reason);
  // The recorder is stopped also when the watchdog hangs: or threads would be looked at for ever.
  is_stopped = is_own && monitor->TryStopFlightRecorder() && is_stopped;
  is_stopped = is_own && monitor->TryStopIoHooks() && is_stopped;
  is_stopped = is_stopped && monitor->TryStopCallers();  // a watchdog that goes on may call it
  if (look) look(*monitor);
  if (!is_stopped) {
    static_cast<void>(monitor.release());
    return;
  }
  if (monitor->run_ != nullptr) monitor->run_->MarkEnded();
}

void Monitor::EndWithProcess() {
  // Nearly always enough; a busy machine may not run the watchdog in that time.
  constexpr int64_t kEndTimeoutNs = 10 * base::kNsPerMs;
  // A hang, and a recording, is worth more of exit()'s time.
  constexpr int64_t kHangTimeoutNs = 1 * base::kNsPerSecond;
  if (process_id_ != getpid()) return;
  NoteRunEnded();
  const bool is_recorded = flight_recorder_ != nullptr;
  const bool has_ended =
      watchdog_->EndWithProcess(is_recorded ? kHangTimeoutNs : kEndTimeoutNs, kHangTimeoutNs);
  if (is_recorded && has_ended) flight_recorder_->EndWithProcess(kHangTimeoutNs);
}

void Monitor::ReportBeforeExec() {
  constexpr int64_t kTimeoutNs = 250 * base::kNsPerMs;
  if (process_id_ == getpid()) watchdog_->ReportNearHangs(kTimeoutNs);
}

namespace {

// A process that ended by itself in a hang, or crashed there, ended the hang.
bool TryReportEndOfHang(const EndedRun& run, RecordWriter* writer) {
  const std::string end = run.EncodeHangEnd();
  return end.empty() ||
         writer->Append(report::RecordType::kHangEnd, end, {run.record.hang_id},
                        {.priority = policies::ReportPriority::kHang, .is_hang_start_or_end = true});
}

}  // namespace

bool Monitor::IsSpoolCrowded() const {
  auto segments =
      report::SpoolReader(&base::SystemEnv(), spool_directory_).List(report::SpoolReader::Include::kFinished);
  return segments.ok() && segments->size() >= kMaxWaitingSegments;
}

void Monitor::ReportEndedRuns(const RunFacts& now) {
  RecordWriter writer(spool_.get(), sealer_.get());
  TakeEndedRuns(spool_directory_, now, [&](const EndedRun& run) {
    if (!last_run_ && run.is_of_same_program) last_run_ = run;
    bool is_news = run.reason != policies::ExitReason::kCleanExit || run.record.was_in_hang();
    if (is_crowded_ && !is_news) return true;
    const std::string usage = run.EncodeUsage();
    if (!usage.empty() && !writer.Append(report::RecordType::kUsage, usage, {run.record.usage_id}))
      return false;
    if (!TryReportEndOfHang(run, &writer)) return false;
    const base::Uuid& id = run.record.was_in_hang() ? run.record.hang_id : run.record.run.session_id;
    return writer.Append(report::RecordType::kRunEnd, report::EncodeRunEnd(run.ToRunEnd()), {id},
                         {.priority = run.reason == policies::ExitReason::kKilledInHang
                                          ? policies::ReportPriority::kKilledInHang
                                          : policies::ReportPriority::kHang});
  });
  spool_->Seal();
}

void Monitor::WithdrawReports() {
  constexpr int64_t kBeginTimeoutNs = 100 * base::kNsPerMs;
  if (flight_recorder_ != nullptr) flight_recorder_->ForgetAsked();
  // Between two rounds, on the thread that owns the descriptor of the open segment.
  auto withdraw = [](void* self) {
    auto* monitor = static_cast<Monitor*>(self);
    if (monitor->trace_triggers_ != nullptr) monitor->trace_triggers_->Forget();
    monitor->TryRemoveReports(monitor->spool_.get());
    monitor->spool_->Prepare();
  };
  if (watchdog_->RunBetweenRounds(withdraw, this, kBeginTimeoutNs)) return;
  static_cast<void>(base::RunWithOwnFiles([this] { TryRemoveReports(nullptr); }));
}

void Monitor::TryRemoveReports(report::SpoolWriter* spool) {
  try {
    RemoveReports(spool);
  } catch (const std::exception&) {  // no memory: what is left is sent
  }
}

void Monitor::RemoveReports(report::SpoolWriter* spool) {
  report::SpoolReader reader(&base::SystemEnv(), spool_directory_);
  auto names = reader.List(report::SpoolReader::Include::kFinished);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (flight_recorder_ != nullptr && name.starts_with(base::ToString(flight_recorder_->spool_session())))
      static_cast<void>(reader.Remove(name));
    if (!name.starts_with(base::ToString(session_id_))) continue;
    auto segment = reader.Read(name);
    if (!segment.ok()) continue;
    auto is_report = [](const report::OwnedRecord& record) {
      const report::RecordType type = TypeOf(record);
      return type == report::RecordType::kReport || type == report::RecordType::kHangEnd;
    };
    auto& records = segment->records;
    if (std::ranges::none_of(records, is_report)) continue;
    std::erase_if(records, is_report);
    if (!records.empty() && spool == nullptr) continue;
    bool is_kept = std::ranges::all_of(records, [&](const report::OwnedRecord& record) {
      return spool->Append(record.type, record.payload);
    });
    if (is_kept) static_cast<void>(reader.Remove(name));
  }
  if (spool != nullptr) spool->Seal();
}

void Monitor::RemoveEmptySegment() {
  constexpr int64_t kTimeoutNs = 20 * base::kNsPerMs;
  auto finish = [](void* spool) { static_cast<report::SpoolWriter*>(spool)->FinishPreparing(); };
  static_cast<void>(watchdog_->RunBetweenRounds(finish, spool_.get(), kTimeoutNs, kTimeoutNs));
}

void Monitor::AbandonInForkedChild(std::unique_ptr<Monitor> monitor) {
  monitor->spool_->AbandonInForkedChild();
  if (monitor->run_ != nullptr) monitor->run_->AbandonInForkedChild();
  monitor->dump_signal_.reset();
  // The threads and locks of the rest belong to the parent.
  static_cast<void>(monitor.release());
}

}  // namespace lagwatch::sdk
