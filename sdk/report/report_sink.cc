// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/report_sink.h"

#include <algorithm>

#include "base/clock.h"
#include "base/process/own_memory.h"
#include "report/format/usage_encoder.h"
#include "report/spool/record_priority.h"
#include "sdk/report/writing_switch.h"

namespace lagwatch::sdk {
namespace {

// A program that is killed in one of the others was not frozen.
bool IsFreeze(policies::HangKind kind) {
  return kind != policies::HangKind::kCpu && kind != policies::HangKind::kCpuAverage &&
         kind != policies::HangKind::kDump && kind != policies::HangKind::kFrames &&
         kind != policies::HangKind::kIo;
}

// Writes a Usage record. `suppressed` replaces the event's own counts. False when it does not fit.
bool EncodeUsage(const watchdog::UsageEvent& event, const policies::SuppressedCounts& suppressed,
                 const ProgramFacts& facts, report::FixedBuffer* buffer) {
  report::UsageEncoder encoder({.id = event.id,
                                .session_id = facts.session_id,
                                .app = facts.app,
                                .app_version = facts.app_version,
                                .user = facts.user,
                                .begin_wall_ms = event.begin_wall_ms,
                                .end_wall_ms = event.end_wall_ms},
                               buffer);
  const policies::Scrubber& scrubber = facts.scrubber;
  for (const watchdog::NamedLoopUsage& loop : event.loops)
    encoder.AddLoop(scrubber.Text(loop.loop).view(), loop.usage);
  for (const watchdog::SlowTag& slow : event.slow)
    encoder.AddSlow(scrubber.Text(slow.loop).view(), scrubber.Text(slow.tag).view(), slow.dispatches);
  if (event.values != nullptr) {
    event.values->ForEach(
        [&](std::string_view name, std::string_view value, const policies::UsagePart& usage) {
          encoder.AddValue(name, scrubber.Text(value).view(), usage);
        });
  }
  for (size_t i = 0; i < suppressed.size(); ++i)
    encoder.AddSuppressed(static_cast<policies::SuppressedReason>(i), suppressed[i]);
  return encoder.ok();
}

// All loops together, in the run record's units.
RunUsage SumOf(const watchdog::UsageEvent& event, const policies::SuppressedCounts& suppressed,
               const policies::Scrubber& scrubber) {
  auto to_32 = [](uint64_t count) { return static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX)); };
  RunUsage sum{};
  sum.id = event.id;
  sum.begin_wall_ms = event.begin_wall_ms;
  sum.end_wall_ms = event.end_wall_ms;
  policies::DurationHistogram durations;
  policies::UsagePart background;
  for (const watchdog::NamedLoopUsage& loop : event.loops) {
    sum.watched_ns += loop.usage.watched_ns;
    sum.dispatches += loop.usage.dispatches;
    sum.untimed_dispatches += loop.usage.untimed_dispatches;
    sum.hangs += loop.usage.hangs;
    sum.hang_ns += loop.usage.hang_ns;
    background.watched_ns += loop.usage.background.watched_ns;
    background.hangs += loop.usage.background.hangs;
    background.hang_ns += loop.usage.background.hang_ns;
    for (size_t i = 0; i < durations.counts.size(); ++i)
      durations.counts[i] += loop.usage.durations.counts[i];
  }
  auto to_ms = [&](int64_t ns) {
    return to_32(static_cast<uint64_t>(std::max<int64_t>(ns, 0) / base::kNsPerMs));
  };
  sum.background_watched_ms = to_ms(background.watched_ns);
  sum.background_hangs = to_32(background.hangs);
  sum.background_hang_ms = to_ms(background.hang_ns);
  std::transform(durations.counts.begin(), durations.counts.end(), sum.durations, to_32);
  std::transform(suppressed.begin(), suppressed.end(), sum.suppressed, to_32);
  if (event.loops.size() == 1) {
    const policies::ScrubbedText loop = scrubber.Text(event.loops.front().loop);
    loop.view().copy(sum.loop, sizeof sum.loop);
  }
  return sum;
}

}  // namespace

ReportSink::ReportSink(ProgramFacts facts, report::SpoolWriter* spool, RunWriter* run,
                       const ProgramContext* program, bool saves_files, report::Sealer* sealer)
    : facts_(std::move(facts)),
      spool_(spool),
      writer_(spool, sealer),
      run_(run),
      program_(program),
      saves_files_(saves_files),
      frame_slices_(new FrameSlices),
      bytes_(base::MapOwnBlock<char>(kBufferBytes)),
      buffer_(bytes_.get(), bytes_ == nullptr ? 0 : kBufferBytes),
      encoder_(&facts_, program) {}

void ReportSink::WatchStart(const StartPlan& plan, StartUp* start_up, watchdog::LoopRegistry* registry) {
  start_.Watch(plan, start_up, registry);
  registry_ = registry;
}

bool ReportSink::OnHang(const watchdog::HangEvent& event) {
  const int64_t begin_ns = event.detected_mono_ns - event.elapsed_ns;
  if (!encoder_.Encode(event, start_.IsInStart(begin_ns), &buffer_)) {
    too_large_.Add();
    return false;
  }
  const OutsideFacts outside{event.id, writer_.is_sealing() ? CauseOf(event) : 0};
  if (!Append(report::RecordType::kReport, outside, NoteOf(event))) {
    not_written_.Add();
    return false;
  }
  if (IsFreeze(event.kind)) {
    if (event.ordinal == 0) start_.NoteHang(begin_ns);
    if (run_ != nullptr)
      run_->HangBegan(event.hang_id, facts_.scrubber.Text(event.loop).c_str(), event.elapsed_ns);
  }
  if (encoder_.AppendNames(event, &buffer_)) WriteAgain(event, outside);
  last_text_ = text_ != nullptr && IsFreeze(event.kind) ? text_->Write(event) : "";
  return true;
}

void ReportSink::OnPeers(const watchdog::HangEvent& event) {
  if (!encoder_.Encode(event, start_.IsInStart(event.detected_mono_ns - event.elapsed_ns), &buffer_)) return;
  encoder_.AppendNames(event, &buffer_);
  WriteAgain(event, {event.id, writer_.is_sealing() ? CauseOf(event) : 0});
}

void ReportSink::WriteAgain(const watchdog::HangEvent& event, const OutsideFacts& outside) {
  Append(report::RecordType::kReport, outside, {.priority = report::PriorityOf(event.kind, event.level)});
}

bool ReportSink::Append(report::RecordType type, const OutsideFacts& outside,
                        const report::RecordNote& note) {
  return process_writing.is_on() && writer_.Append(type, buffer_.content(), outside, note);
}

void ReportSink::OnBlame(const base::Uuid& event_id) { blamed_ = event_id; }

void ReportSink::OnHangEnd(const base::Uuid& event_id, int64_t duration_ns) {
  if (run_ != nullptr) run_->HangEnded(event_id);
  if (!report::EncodeHangEnd(event_id, duration_ns, &buffer_, event_id == blamed_)) return;
  Append(report::RecordType::kHangEnd, {event_id}, NoteOfEnd(event_id));
}

// If the process is killed, that was in a hang, probably.
void ReportSink::OnUnproven(const base::Uuid& id, const char* loop_name, int64_t elapsed_ns) {
  if (run_ != nullptr) run_->HangBegan(id, facts_.scrubber.Text(loop_name).c_str(), elapsed_ns);
}

void ReportSink::OnUnprovenEnd(const base::Uuid& id) {
  if (run_ != nullptr) run_->HangEnded(id);
}

report::RecordNote ReportSink::NoteOf(const watchdog::HangEvent& event) {
  const bool begins_freeze = event.ordinal == 0 && IsFreeze(event.kind);
  if (begins_freeze) freezes_[freeze_count_++ % freezes_.size()] = event.id;
  return {.priority = report::PriorityOf(event.kind, event.level), .is_hang_start_or_end = begins_freeze};
}

report::RecordNote ReportSink::NoteOfEnd(const base::Uuid& event_id) const {
  return {.priority = policies::ReportPriority::kHang,
          .is_hang_start_or_end = std::ranges::find(freezes_, event_id) != freezes_.end()};
}

void ReportSink::OnFrames(const watchdog::FrameEvent& event) {
  char scene[TextCell::kMaxBytes];
  uint64_t number = program_->scene.Read(scene);
  frame_slices_->Add(event, scene, number);
}

void ReportSink::OnStop() {
  if (run_ != nullptr) run_->WriteLastUsage();
  frame_slices_->WriteAll([this](const FrameSlice& slice) { Write(slice); });
  WriteDeferred();
  spool_->Finish();
  if (run_ != nullptr) run_->Refresh();
}

bool ReportSink::OnUsage(const watchdog::UsageEvent& event) {
  if (!spool_->IsLastSealedLeft()) unsent_usages_ = 0;
  if (event.is_alone && (saves_files_ || unsent_usages_ == kMaxUnsentUsages)) return false;
  const policies::SuppressedCounts suppressed = SuppressedOf(event);
  const bool is_encoded = EncodeUsage(event, suppressed, facts_, &buffer_);
  if (!is_encoded || !Append(report::RecordType::kUsage, {event.id})) return false;
  reported_too_large_ = too_large_.value();
  reported_not_written_ = NotWritten();
  if (event.is_alone) ++unsent_usages_;
  if (run_ != nullptr) run_->NoteUsage({});
  return true;
}

void ReportSink::OnUsageSoFar(const watchdog::UsageEvent& event) {
  if (run_ != nullptr) run_->NoteUsage(SumOf(event, SuppressedOf(event), facts_.scrubber));
}

policies::SuppressedCounts ReportSink::SuppressedOf(const watchdog::UsageEvent& event) const {
  using Reason = policies::SuppressedReason;
  policies::SuppressedCounts counts{};
  std::copy_n(event.suppressed.begin(), std::min(event.suppressed.size(), counts.size()), counts.begin());
  counts[static_cast<size_t>(Reason::kTooLarge)] = too_large_.value() - reported_too_large_;
  counts[static_cast<size_t>(Reason::kNotWritten)] = NotWritten() - reported_not_written_;
  return counts;
}

void ReportSink::OnRoundDone() {
  WriteDeferred();
  spool_->Seal();
  spool_->Prepare();
  if (run_ == nullptr) return;
  run_->Refresh();
  if (run_->TakeDumpCall() && registry_ != nullptr) registry_->dump_requests().Ask("lagwatch dump", 0);
}

void ReportSink::WriteDeferred() {
  frame_slices_->WriteDue(base::SystemClock().MonoNs(), [this](const FrameSlice& slice) { Write(slice); });
  ReportStart();
}

void ReportSink::ReportStart() {
  if (!start_.TakeSlowStart()) return;
  const base::Uuid id = base::CreateUuidV7(base::SystemClock().WallMs());
  if (!start_.Encode(id, facts_, *program_, &buffer_)) return too_large_.Add();
  if (!Append(report::RecordType::kReport, {id})) return not_written_.Add();
  if (report::EncodeHangEnd(id, start_.duration_ns(), &buffer_)) Append(report::RecordType::kHangEnd, {id});
}

void ReportSink::Write(const FrameSlice& slice) {
  const base::Uuid id = base::CreateUuidV7(base::SystemClock().WallMs());
  if (!EncodeSlice(slice, id, facts_, &buffer_)) return too_large_.Add();
  if (!Append(report::RecordType::kFrameSlice, {id})) not_written_.Add();
}

}  // namespace lagwatch::sdk
