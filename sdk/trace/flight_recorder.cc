// SPDX-License-Identifier: Apache-2.0
#include "sdk/trace/flight_recorder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/process/env.h"
#include "base/text.h"
#include "report/format/trace_record.h"
#include "sdk/report/writing_switch.h"
#include "stack/code_map.h"
#include "trace/format/trace_codec.h"
#include "trace/hooks/hook_recorder.h"
#include "trace/record/reader/arena_reader.h"

namespace lagwatch::sdk {
namespace {

constexpr size_t kThreadStackBytes = 1 << 20;
constexpr int64_t kStopNs = 5 * base::kNsPerSecond;
// Traces take at most a quarter of the limit of waiting records.
constexpr uint64_t kMaxUnsentBytes = 16 << 20;

trace::CallOptions CallsOf(const TraceOptions& options) {
  trace::CallOptions calls;
  calls.are_recorded = true;
  calls.are_required = false;
  calls.filter.allow_modules = base::SplitAtCommas(options.patched_modules);
  calls.are_patched = !calls.filter.allow_modules.empty();
  calls.finds_rules = true;
  calls.rules_file = options.rules_file;
  return calls;
}

int64_t ShortestWanted(const TraceOptions& options) {
  int64_t interval_ns = options.interval_ns;
  for (const TraceRequest& request : options.requests)
    interval_ns = std::min(interval_ns, request.interval_ns);
  return interval_ns;
}

// So long after an event a trace goes on, and the recorder is waited for.
constexpr int64_t kTraceAfterNs = 250 * base::kNsPerMs;

void ScrubTexts(const policies::Scrubber& scrubber, trace::Trace* trace) {
  trace->process_name = scrubber.Text(trace->process_name).view();
  for (trace::Module& module : trace->modules) module.path = scrubber.Path(module.path).view();
  for (trace::NamedFrame& frame : trace->frames) {
    frame.name = scrubber.Text(frame.name).view();
    frame.file = scrubber.Text(frame.file).view();
  }
  for (trace::Thread& thread : trace->threads) {
    thread.name = scrubber.Text(thread.name).view();
    for (trace::Dispatch& dispatch : thread.dispatches) dispatch.tag = scrubber.Text(dispatch.tag).view();
  }
}

struct Packed {
  trace::Trace trace;
  std::string bytes;
};

Packed PackWindow(const trace::Arena& arena, const trace::Window& window, int64_t left_out_ns,
                  const policies::Scrubber& scrubber) {
  Packed packed{trace::ReadArena(arena, window), {}};
  ScrubTexts(scrubber, &packed.trace);
  if (left_out_ns != 0) {
    packed.trace.losses.push_back({"milliseconds at the begin, because all was too large",
                                   static_cast<uint64_t>(left_out_ns / base::kNsPerMs), "trace_max_kib"});
  }
  packed.bytes = trace::PackTrace(packed.trace);
  return packed;
}

// Cuts the time around an event out of the recording. None if the recorder has nothing of that time. A trace
// larger than `options.max_bytes` is shortened, from its begin, and says so. Texts are scrubbed as those of
// reports.
std::optional<report::TraceRecord> DumpTrace(const trace::Arena& arena, const TraceEvent& event,
                                             const TraceOptions& options, const ProgramFacts& facts) {
  constexpr int64_t kShortestNs = 10 * base::kNsPerMs;
  trace::Window window{event.begin_ns - options.before_ns, event.end_ns + kTraceAfterNs};
  Packed packed = PackWindow(arena, window, 0, facts.scrubber);
  const int64_t whole_begin_ns = packed.trace.begin_ns;
  while (packed.bytes.size() > options.max_bytes) {
    const int64_t length_ns = packed.trace.end_ns - packed.trace.begin_ns;
    if (length_ns < kShortestNs) return std::nullopt;
    window = {packed.trace.end_ns - length_ns / 2, packed.trace.end_ns};
    packed = PackWindow(arena, window, window.begin_ns - whole_begin_ns, facts.scrubber);
  }
  const trace::Trace& trace = packed.trace;
  if (trace.threads.empty()) return std::nullopt;
  const int64_t begin_wall_ms = (trace.begin_ns + trace.wall_minus_mono_ns) / base::kNsPerMs;
  return report::TraceRecord{.id = base::CreateUuidV7(base::SystemClock().WallMs()),
                             .session_id = facts.session_id,
                             .report_id = event.report_id,
                             .hang_id = event.hang_id,
                             .app = facts.app,
                             .app_version = facts.app_version,
                             .user = facts.user,
                             .begin_wall_ms = static_cast<uint64_t>(std::max<int64_t>(begin_wall_ms, 0)),
                             .duration_ns = static_cast<uint64_t>(trace.end_ns - trace.begin_ns),
                             .reason = std::string(TraceReasonName(event.reason)),
                             .trace = std::move(packed.bytes),
                             .cause = event.cause};
}

}  // namespace

std::string_view TraceReasonName(TraceReason reason) {
  constexpr std::array<std::string_view, 8> kNames = {"lag",    "anr",     "slow", "cpu",
                                                      "frames", "request", "api",  "signal"};
  return kNames[static_cast<size_t>(reason)];
}

FlightRecorder::FlightRecorder(Setup setup) : setup_(std::move(setup)), dispatches_(setup_.registry) {}

base::Result<std::unique_ptr<FlightRecorder>> FlightRecorder::Start(Setup setup) {
  std::unique_ptr<FlightRecorder> self(new FlightRecorder(std::move(setup)));
  if (base::Status status = self->OpenSpool(); !status.ok()) return status;
  if (base::Status status = self->StartRecording(); !status.ok()) return status;
  base::Status status =
      self->thread_.Start("lagwatch-dump", kThreadStackBytes, &FlightRecorder::Run, self.get());
  if (status.ok()) return self;
  if (!self->TryStop()) static_cast<void>(self.release());
  return status;
}

base::Status FlightRecorder::OpenSpool() {
  // Of a later time than the reports', so that a sender that goes by names takes the reports first.
  spool_session_ = base::CreateUuidV7(base::SystemClock().WallMs() + 1);
  report::SpoolLimits limits;
  limits.unsent_bytes = kMaxUnsentBytes;
  auto spool =
      report::SpoolWriter::Create(&base::SystemEnv(), setup_.spool_directory, spool_session_, limits);
  if (!spool.ok()) return spool.status();
  spool_ = std::move(spool).value();
  return {};
}

base::Status FlightRecorder::StartRecording() {
  arena_ = trace::Arena::CreatePrivate(trace::Arena::Sizes::Of(setup_.options.buffer_bytes));
  if (arena_ == nullptr) return {base::StatusCode::kUnavailable, "no memory to record traces in"};
  auto code = stack::CodeMap::Create();
  if (!code.ok()) return code.status();
  setup_.registry->KeepTracks();
  trace::RecorderOptions options;
  options.main_interval_ns = options.worker_interval_ns = ShortestWanted(setup_.options);
  options.has_hooks = setup_.options.has_hooks;
  options.hooks.interval_ns = setup_.options.interval_ns;
  options.capture = setup_.capture;
  options.dispatches = &dispatches_;
  options.calls = CallsOf(setup_.options);
  auto recorder = trace::Recorder::Start(arena_.get(), std::move(code).value(), options);
  if (!recorder.ok()) return recorder.status();
  recorder_ = std::move(recorder).value();
  return {};
}

FlightRecorder::~FlightRecorder() {
  while (!TryStop()) {
  }
  recorder_.reset();  // borrows the arena
  if (arena_ != nullptr) trace::Arena::FreeButCalls(std::move(arena_));
}

bool FlightRecorder::TryStop() {
  stopping_.store(true);
  sleeper_.Wake();
  const bool has_ended = thread_.TryJoin(kStopNs);
  return (recorder_ == nullptr || recorder_->TryStop()) && has_ended;
}

void FlightRecorder::EndWithProcess(int64_t timeout_ns) {
  stopping_.store(true);
  sleeper_.Wake();
  thread_.AwaitEnd(timeout_ns);
}

bool FlightRecorder::Ask(const TraceEvent& event) {
  {
    const std::lock_guard lock(mutex_);
    if (asked_count_ == kMaxAsked) {
      dropped_.Add();
      return false;
    }
    asked_[asked_count_++] = event;
  }
  sleeper_.Wake();
  return true;
}

bool FlightRecorder::AskForReport(const watchdog::SlowDispatch& dispatch) {
  {
    const std::lock_guard lock(mutex_);
    if (slow_count_ == kMaxSlow) {
      reports_dropped_.Add();
      return false;
    }
    slow_[slow_count_++] = SlowRequest(dispatch);
  }
  sleeper_.Wake();
  return true;
}

void FlightRecorder::SetInterval(int64_t interval_ns) {
  trace::ArenaHeader& header = arena_->header();
  header.main_interval_ns.store(interval_ns, std::memory_order_relaxed);  // a number
  header.worker_interval_ns.store(interval_ns, std::memory_order_relaxed);
}

void FlightRecorder::Run(void* self) {
  trace::LeaveThisThreadOut();
  auto* recorder = static_cast<FlightRecorder*>(self);
  while (!recorder->stopping_.load()) {
    recorder->WriteAsked();
    recorder->WriteReports();
    recorder->sleeper_.SleepUntil(recorder->NextDueNs());
  }
  recorder->WriteAsked();
  recorder->WriteReports();
  recorder->spool_.reset();  // its descriptor is one of this thread's own
}

void FlightRecorder::ForgetAsked() {
  const std::lock_guard writing(writing_mutex_);
  const std::lock_guard lock(mutex_);
  asked_count_ = slow_count_ = 0;
}

// When the next one is due; the end of time without one.
int64_t FlightRecorder::NextDueNs() {
  const std::lock_guard lock(mutex_);
  const int64_t trace_ns = asked_count_ != 0 ? asked_[0].end_ns + kTraceAfterNs : base::Sleeper::kForever;
  return slow_count_ != 0 ? std::min(trace_ns, slow_[0].end_ns() + kTraceAfterNs) : trace_ns;
}

bool FlightRecorder::TakeAsked(TraceEvent* event) {
  const std::lock_guard lock(mutex_);
  const bool is_due = asked_count_ != 0 &&
                      (stopping_.load() || base::SystemClock().MonoNs() >= asked_[0].end_ns + kTraceAfterNs);
  if (!is_due) return false;
  *event = asked_[0];
  std::copy(asked_.begin() + 1, asked_.begin() + static_cast<std::ptrdiff_t>(asked_count_), asked_.begin());
  --asked_count_;
  return true;
}

bool FlightRecorder::TakeSlow(SlowRequest* request) {
  const std::lock_guard lock(mutex_);
  const bool is_due = slow_count_ != 0 &&
                      (stopping_.load() || base::SystemClock().MonoNs() >= slow_[0].end_ns() + kTraceAfterNs);
  if (!is_due) return false;
  *request = slow_[0];
  std::copy(slow_.begin() + 1, slow_.begin() + static_cast<std::ptrdiff_t>(slow_count_), slow_.begin());
  --slow_count_;
  return true;
}

void FlightRecorder::WriteReports() {
  SlowRequest request;
  for (;;) {
    const std::lock_guard writing(writing_mutex_);
    if (!TakeSlow(&request)) return;
    (Write(request) ? reports_written_ : reports_dropped_).Add();
  }
}

bool FlightRecorder::Write(const SlowRequest& request) {
  if (!process_writing.is_on()) return false;
  const auto report = MakeSlowReport(*arena_, request, setup_.facts);
  if (!report || !process_writing.is_on()) return false;
  RecordWriter writer(spool_.get(), setup_.sealer.get());
  const report::RecordNote note{.priority = policies::ReportPriority::kSlowDispatch};
  const bool is_written =
      writer.Append(report::RecordType::kReport, report->payload, {report->id, report->cause}, note) &&
      writer.Append(report::RecordType::kHangEnd, report->end, {report->id}, note);
  spool_->Seal();
  return is_written;
}

// Waits for the time after an event, but not while the monitor stops.
void FlightRecorder::WriteAsked() {
  for (;;) {
    const std::lock_guard writing(writing_mutex_);
    TraceEvent event;
    if (!TakeAsked(&event)) return;
    (Write(event) ? written_ : dropped_).Add();
  }
}

bool FlightRecorder::Write(const TraceEvent& event) {
  if (!process_writing.is_on()) return false;
  const auto record = DumpTrace(*arena_, event, setup_.options, setup_.facts);
  if (!record) return false;
  RecordWriter writer(spool_.get(), setup_.sealer.get());
  const base::Uuid& outside_id = event.report_id == base::Uuid{} ? record->id : event.report_id;
  const bool is_written =
      process_writing.is_on() &&
      writer.Append(report::RecordType::kTrace, EncodeTraceRecord(*record), {outside_id, event.cause},
                    {.priority = policies::ReportPriority::kTrace});
  spool_->Seal();
  return is_written;
}

}  // namespace lagwatch::sdk
