// SPDX-License-Identifier: Apache-2.0
#include "sdk/report_sink.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.h"
#include "policies/cause_key.h"
#include "report/format/usage_encoder.h"
#include "report/spool/record_priority.h"
#include "sdk/writing_switch.h"
#include "stack/thread_counters.h"

namespace lagwatch::sdk {
namespace {

// What is below a microsecond is the measuring, and would be most of the bytes that are sent.
int64_t WholeUs(int64_t ns) {
  constexpr int64_t kNsPerUs = 1000;
  return ns / kNsPerUs * kNsPerUs;
}

policies::ThreadUse WholeUs(policies::ThreadUse use) {
  use.cpu_ns = WholeUs(use.cpu_ns);
  return use;
}

policies::Verdict WholeUs(policies::Verdict verdict) {
  policies::TimeShares& shares = verdict.shares;
  for (int64_t* ns : {&shares.wall_ns, &shares.user_ns, &shares.kernel_ns, &shares.run_queue_ns,
                      &shares.throttled_ns, &shares.lock_ns, &shares.disk_ns, &shares.memory_ns,
                      &shares.network_ns, &shares.process_ns, &shares.pipe_ns, &shares.display_ns,
                      &shares.service_ns, &shares.name_lookup_ns, &shares.sleep_ns, &shares.stopped_ns}) {
    *ns = WholeUs(*ns);
  }
  verdict.use = WholeUs(verdict.use);
  return verdict;
}

// One more than the module map has, for code made at run time.
constexpr uint32_t kGeneratedCodeSlot = stack::ModuleMap::kMaxModules;
constexpr uint32_t kModuleSlots = kGeneratedCodeSlot + 1;

// A program that is killed in one of the others was not frozen.
bool IsFreeze(policies::HangKind kind) {
  return kind != policies::HangKind::kCpu && kind != policies::HangKind::kCpuAverage &&
         kind != policies::HangKind::kDump && kind != policies::HangKind::kFrames;
}

}  // namespace

void AddProgramWords(const ProgramWords& words, const policies::Scrubber& scrubber,
                     report::ReportEncoder* encoder) {
  char scene[TextCell::kMaxBytes];
  words.scene.Read(scene);
  const policies::ScrubbedText told_scene = scrubber.Text({scene, strnlen(scene, sizeof scene)});
  if (!told_scene.view().empty()) encoder->AddText("scene", told_scene.view());
  words.values.ForEach([&](std::string_view key, std::string_view value) {
    constexpr std::string_view kPrefix = "app.";
    char name[kPrefix.size() + ProgramValues::kMaxKeyBytes];
    const char* end = std::ranges::copy(key, std::ranges::copy(kPrefix, name).out).out;
    encoder->AddText({name, static_cast<size_t>(end - name)}, scrubber.Text(value).view());
  });
}

uint64_t CauseOf(const watchdog::LagEvent& event) {
  const stack::Stack& stack = *event.expensive_stack;
  std::array<policies::CauseFrame, stack::kMaxFrames> frames;
  for (uint32_t i = 0; i < stack.frame_count; ++i) {
    const stack::Frame& frame = stack.frames[i];
    if (frame.module == stack::kNoModule) continue;
    const stack::Module& module = event.modules->module(frame.module);
    frames[i] = {module.path_view(), module.build_id_view(), frame.symbol_offset()};
  }
  return policies::CauseKey({frames.data(), stack.frame_count});
}

void ProgramFacts::Fill(report::ReportHeader* header) const {
  header->session_id = session_id;
  header->app = app;
  header->app_version = app_version;
  header->user = user;
  header->os = os;
  header->machine = machine;
  header->pid = pid;
}

ProgramFacts SystemFacts() {
  ProgramFacts facts;
  utsname system{};
  if (uname(&system) == 0) {
    facts.os = std::string(system.sysname) + " " + system.release;
    facts.machine = system.machine;
  }
  facts.pid = static_cast<uint32_t>(getpid());
  facts.session_id = base::CreateUuidV7(base::SystemClock().WallMs());
  return facts;
}

ReportSink::ReportSink(ProgramFacts facts, report::SpoolWriter* spool, RunWriter* run,
                       const ProgramWords* words, bool saves_files, report::Sealer* sealer)
    : facts_(std::move(facts)),
      spool_(spool),
      writer_(spool, sealer),
      run_(run),
      words_(words),
      saves_files_(saves_files),
      frame_slices_(new FrameSlices),
      bytes_(base::MapBlock<char>(kBufferBytes)),
      buffer_(bytes_.get(), bytes_ == nullptr ? 0 : kBufferBytes),
      encoded_modules_(new uint32_t[kModuleSlots]()) {}

void ReportSink::WatchStart(const StartPlan& plan, StartUp* start_up, watchdog::LoopRegistry* registry) {
  start_ = plan;
  start_up_ = start_up;
  registry_ = registry;
}

bool ReportSink::OnLag(const watchdog::LagEvent& event) {
  if (!Encode(event)) {
    too_large_.Add();
    return false;
  }
  const OutsideFacts outside{event.id, writer_.is_sealing() ? CauseOf(event) : 0};
  if (!Append(report::RecordType::kReport, outside, NoteOf(event))) {
    not_written_.Add();
    return false;
  }
  if (!IsFreeze(event.kind)) return true;
  lags_in_start_ += event.ordinal == 0 && IsInStart(event.detected_mono_ns - event.elapsed_ns);
  if (run_ != nullptr)
    run_->LagBegan(event.lag_id, facts_.scrubber.Text(event.loop).c_str(), event.elapsed_ns);
  return true;
}

bool ReportSink::Append(report::RecordType type, const OutsideFacts& outside,
                        const report::RecordNote& note) {
  return process_writing.is_on() && writer_.Append(type, buffer_.content(), outside, note);
}

void ReportSink::OnLagEnd(const base::Uuid& event_id, int64_t duration_ns) {
  if (run_ != nullptr) run_->LagEnded(event_id);
  if (!report::EncodeLagEnd(event_id, duration_ns, &buffer_)) return;
  Append(report::RecordType::kLagEnd, {event_id}, NoteOfEnd(event_id));
}

report::RecordNote ReportSink::NoteOf(const watchdog::LagEvent& event) {
  const bool begins_freeze = event.ordinal == 0 && IsFreeze(event.kind);
  if (begins_freeze) freezes_[freeze_count_++ % freezes_.size()] = event.id;
  return {.priority = report::PriorityOf(event.kind, event.level), .is_lag_start_or_end = begins_freeze};
}

report::RecordNote ReportSink::NoteOfEnd(const base::Uuid& event_id) const {
  return {.priority = policies::ReportPriority::kLag,
          .is_lag_start_or_end = std::ranges::find(freezes_, event_id) != freezes_.end()};
}

void ReportSink::OnFrames(const watchdog::FrameEvent& event) {
  char scene[TextCell::kMaxBytes];
  uint64_t number = words_->scene.Read(scene);
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
  report::UsageEncoder encoder({.id = event.id,
                                .session_id = facts_.session_id,
                                .app = facts_.app,
                                .app_version = facts_.app_version,
                                .user = facts_.user,
                                .begin_wall_ms = event.begin_wall_ms,
                                .end_wall_ms = event.end_wall_ms},
                               &buffer_);
  const policies::Scrubber& scrubber = facts_.scrubber;
  for (const watchdog::NamedLoopUsage& loop : event.loops)
    encoder.AddLoop(scrubber.Text(loop.loop).view(), loop.usage);
  for (const watchdog::SlowTag& slow : event.slow)
    encoder.AddSlow(scrubber.Text(slow.loop).view(), scrubber.Text(slow.tag).view(), slow.dispatches);
  const policies::SuppressedCounts suppressed = SuppressedOf(event);
  for (size_t i = 0; i < suppressed.size(); ++i)
    encoder.AddSuppressed(static_cast<policies::SuppressedReason>(i), suppressed[i]);
  if (!encoder.ok() || !Append(report::RecordType::kUsage, {event.id})) return false;
  told_too_large_ = too_large_.value();
  told_not_written_ = NotWritten();
  if (event.is_alone) ++unsent_usages_;
  if (run_ != nullptr) run_->NoteUsage({});
  return true;
}

void ReportSink::OnUsageSoFar(const watchdog::UsageEvent& event) {
  if (run_ == nullptr) return;
  auto to_32 = [](uint64_t count) { return static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX)); };
  RunUsage sum{};
  sum.id = event.id;
  sum.begin_wall_ms = event.begin_wall_ms;
  sum.end_wall_ms = event.end_wall_ms;
  policies::DurationHistogram durations;
  policies::BackgroundUsage background;
  for (const watchdog::NamedLoopUsage& loop : event.loops) {
    sum.watched_ns += loop.usage.watched_ns;
    sum.dispatches += loop.usage.dispatches;
    sum.untimed_dispatches += loop.usage.untimed_dispatches;
    sum.lags += loop.usage.lags;
    sum.lagged_ns += loop.usage.lagged_ns;
    background.watched_ns += loop.usage.background.watched_ns;
    background.lags += loop.usage.background.lags;
    background.lagged_ns += loop.usage.background.lagged_ns;
    for (size_t i = 0; i < durations.counts.size(); ++i)
      durations.counts[i] += loop.usage.durations.counts[i];
  }
  auto to_ms = [&](int64_t ns) {
    return to_32(static_cast<uint64_t>(std::max<int64_t>(ns, 0) / base::kNsPerMs));
  };
  sum.background_watched_ms = to_ms(background.watched_ns);
  sum.background_lags = to_32(background.lags);
  sum.background_lagged_ms = to_ms(background.lagged_ns);
  std::transform(durations.counts.begin(), durations.counts.end(), sum.durations, to_32);
  const policies::SuppressedCounts suppressed = SuppressedOf(event);
  std::transform(suppressed.begin(), suppressed.end(), sum.suppressed, to_32);
  if (event.loops.size() == 1) {
    const policies::ScrubbedText loop = facts_.scrubber.Text(event.loops.front().loop);
    loop.view().copy(sum.loop, sizeof sum.loop);
  }
  run_->NoteUsage(sum);
}

policies::SuppressedCounts ReportSink::SuppressedOf(const watchdog::UsageEvent& event) const {
  using Reason = policies::SuppressedReason;
  policies::SuppressedCounts counts{};
  std::copy_n(event.suppressed.begin(), std::min(event.suppressed.size(), counts.size()), counts.begin());
  counts[static_cast<size_t>(Reason::kTooLarge)] = too_large_.value() - told_too_large_;
  counts[static_cast<size_t>(Reason::kNotWritten)] = NotWritten() - told_not_written_;
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
  TellStart();
}

bool ReportSink::IsInStart(int64_t mono_ns) const {
  if (start_.threshold_ns == 0 || start_up_->is_withdrawn()) return false;
  int64_t ready_ns = start_up_->ready_ns();
  return ready_ns == 0 || mono_ns < ready_ns;
}

void ReportSink::TellStart() {
  if (start_.threshold_ns == 0 || start_up_->ready_ns() == 0 || !start_up_->Claim()) return;
  const int64_t ready_ns = start_up_->ready_ns();
  const int64_t duration_ns = ready_ns - start_.process_start_ns;
  bool is_slow = duration_ns > start_.threshold_ns && !start_up_->is_withdrawn();
  if (!is_slow || stack::ReadTracer() != 0) return;  // whoever debugs it makes it slow
  const base::Uuid id = base::CreateUuidV7(base::SystemClock().WallMs());
  if (!EncodeStart(id, ready_ns)) return too_large_.Add();
  if (!Append(report::RecordType::kReport, {id})) return not_written_.Add();
  if (report::EncodeLagEnd(id, duration_ns, &buffer_)) Append(report::RecordType::kLagEnd, {id});
}

bool ReportSink::EncodeStart(const base::Uuid& id, int64_t ready_ns) {
  const base::Clock& clock = base::SystemClock();
  const int64_t begin_ns = start_.process_start_ns;
  report::ReportEncoder encoder(&buffer_);
  report::ReportHeader header{.id = id,
                              .lag_id = id,
                              .tid = facts_.pid,
                              .tag = start_.is_warm ? "warm start" : "cold start",
                              .kind = report::HangKind::kStartup,
                              .threshold_ms = static_cast<uint32_t>(start_.threshold_ns / base::kNsPerMs),
                              .start_wall_ms = clock.WallMs() - (clock.MonoNs() - begin_ns) / base::kNsPerMs,
                              .elapsed_ns = ready_ns - begin_ns,
                              .cpu_window_ns = ready_ns - begin_ns,
                              .cpu_thread_ns = base::ThreadCpuNs(static_cast<int>(facts_.pid)),
                              .cpu_process_ns = base::ProcessCpuNs()};
  facts_.Fill(&header);
  encoder.SetHeader(header);
  encoder.AddText("start", start_.is_warm ? "warm" : "cold");
  struct Milestone {
    const char* name;
    int64_t mono_ns;
  };
  const Milestone milestones[] = {{"library_load_ms", LibraryLoadNs()},
                                  {"monitor_start_ms", start_.monitor_start_ns},
                                  {"first_dispatch_ms", FirstDispatchNs(registry_)},
                                  {"first_frame_ms", FirstFrameNs(registry_)},
                                  {"ready_ms", ready_ns}};
  for (const Milestone& milestone : milestones) {
    // A parent's, or one that was not reached.
    if (milestone.mono_ns < begin_ns || milestone.mono_ns > ready_ns) continue;
    encoder.AddNumber(milestone.name, (milestone.mono_ns - begin_ns) / base::kNsPerMs);
  }
  AddProgramWords(*words_, facts_.scrubber, &encoder);
  // They tell what the program was at.
  encoder.AddNumber("lags_before_ready", lags_in_start_);
  encoder.SetExpensiveStack(encoder.AddStack({}, report::Completeness::kNone));
  return encoder.ok();
}

void ReportSink::Write(const FrameSlice& slice) {
  const base::Clock& clock = base::SystemClock();
  const int64_t wall_ms = clock.WallMs();
  const base::Uuid id = base::CreateUuidV7(wall_ms);
  bool is_encoded = report::EncodeFrameSlice(
      {.id = id,
       .session_id = facts_.session_id,
       .app = facts_.app,
       .app_version = facts_.app_version,
       .user = facts_.user,
       .loop = facts_.scrubber.Text(slice.loop).view(),
       .scene = facts_.scrubber.Text({slice.scene, strnlen(slice.scene, sizeof slice.scene)}).view(),
       .begin_wall_ms = wall_ms - (clock.MonoNs() - slice.begin_mono_ns) / base::kNsPerMs,
       .duration_ns = slice.end_mono_ns - slice.begin_mono_ns,
       .refresh_interval_ns = slice.refresh_interval_ns,
       .frames = slice.frames},
      &buffer_);
  if (!is_encoded) return too_large_.Add();
  if (!Append(report::RecordType::kFrameSlice, {id})) not_written_.Add();
}

bool ReportSink::Encode(const watchdog::LagEvent& event) {
  const bool is_in_start = IsInStart(event.detected_mono_ns - event.elapsed_ns);
  const bool is_start_lag = is_in_start && event.kind == policies::HangKind::kLag;
  ForgetModulesFrom(0);
  report::ReportEncoder encoder(&buffer_);
  const policies::ScrubbedText loop = facts_.scrubber.Text(event.loop);
  const policies::ScrubbedText tag = facts_.scrubber.Text(event.tag);
  report::ReportHeader header = event;
  facts_.Fill(&header);
  header.loop = loop.view();
  header.tag = tag.view();
  if (is_start_lag) header.kind = report::HangKind::kStartupLag;
  for (int64_t* ns :
       {&header.elapsed_ns, &header.cpu_window_ns, &header.cpu_thread_ns, &header.cpu_process_ns})
    *ns = WholeUs(*ns);
  encoder.SetHeader(header);
  encoder.SetVerdict(WholeUs(event.verdict));
  for (const watchdog::Fact& fact : event.facts) {
    fact.text == nullptr ? encoder.AddNumber(fact.name, fact.number)
                         : encoder.AddText(fact.name, facts_.scrubber.Text(fact.text).view());
  }
  if (is_in_start && !is_start_lag) encoder.AddNumber("before_ready", 1);
  AddProgramWords(*words_, facts_.scrubber, &encoder);
  encoder.SetExpensiveStack(EncodeStack(*event.expensive_stack, *event.modules, &encoder));
  for (const watchdog::LoopSample* sample : event.samples) {
    encoder.AddSample({.age_ns = WholeUs(event.detected_mono_ns - sample->mono_ns),
                       .stack = EncodeStack(sample->stack, *event.modules, &encoder),
                       .use = WholeUs(sample->use)});
  }
  if (!encoder.ok()) return false;
  encoder.SetGuard(event.guard);
  EncodeWaits(event, &encoder);
  EncodeHistory(event, &encoder);
  EncodeThreads(event, &encoder);
  return encoder.ok();
}

void ReportSink::EncodeWaits(const watchdog::LagEvent& event, report::ReportEncoder* encoder) {
  report::ReportEncoder::Mark before = encoder->mark();
  for (const watchdog::Wait& wait : event.waits) {
    const policies::ScrubbedText owner_name = facts_.scrubber.Text(wait.owner_name);
    report::WaitView told = wait;
    told.stack = EncodeOptionalStack(wait.frames, *event.modules, encoder);
    told.owner_name = owner_name.view();
    told.owner_stack = EncodeOptionalStack(wait.owner_frames, *event.modules, encoder);
    encoder->AddWait(told);
  }
  encoder->SetWaitOutcome(event.wait_outcome);
  if (encoder->ok()) return;
  encoder->RewindTo(before);
  ForgetModulesFrom(before.module_count);
}

void ReportSink::EncodeHistory(const watchdog::LagEvent& event, report::ReportEncoder* encoder) {
  report::ReportEncoder::Mark before = encoder->mark();
  for (report::PastDispatchView dispatch : event.history) {
    const policies::ScrubbedText tag = facts_.scrubber.Text(dispatch.tag);
    dispatch.tag = tag.view();
    encoder->AddPastDispatch(dispatch);
  }
  if (!encoder->ok()) encoder->RewindTo(before);
}

void ReportSink::EncodeThreads(const watchdog::LagEvent& event, report::ReportEncoder* encoder) {
  uint32_t dropped = event.threads_dropped;
  for (const watchdog::ThreadSnapshot* snapshot : event.threads) {
    report::ReportEncoder::Mark before = encoder->mark();
    const policies::ScrubbedText name = facts_.scrubber.Text(snapshot->name);
    report::ThreadView thread = snapshot->View();
    thread.name = name.view();
    thread.stack = EncodeOptionalStack(&snapshot->stack, *event.modules, encoder);
    thread.cpu_ns = WholeUs(thread.cpu_ns);
    encoder->AddThread(thread);
    if (encoder->ok()) continue;
    // Later threads may have shorter stacks.
    encoder->RewindTo(before);
    ForgetModulesFrom(before.module_count);
    ++dropped;
  }
  encoder->SetThreadsDropped(dropped);
}

uint32_t ReportSink::EncodeStack(const stack::Stack& stack, const stack::ModuleMap& modules,
                                 report::ReportEncoder* encoder) {
  std::array<report::Frame, stack::kMaxFrames> frames;
  for (uint32_t i = 0; i < stack.frame_count; ++i) {
    const stack::Frame& frame = stack.frames[i];
    frames[i] = {EncodedModule(frame.module, modules, encoder), frame.offset, frame.function_offset};
  }
  return encoder->AddStack({frames.data(), stack.frame_count}, stack.completeness,
                           {stack.gap_at, stack.gap_frame_count});
}

uint32_t ReportSink::EncodeOptionalStack(const stack::Stack* stack, const stack::ModuleMap& modules,
                                         report::ReportEncoder* encoder) {
  bool is_empty = stack == nullptr || stack->frame_count == 0;
  return is_empty ? report::kNoStack : EncodeStack(*stack, modules, encoder);
}

uint32_t ReportSink::EncodedModule(uint32_t module, const stack::ModuleMap& modules,
                                   report::ReportEncoder* encoder) {
  const bool is_generated = module == stack::kNoModule;
  uint32_t& encoded = encoded_modules_[is_generated ? kGeneratedCodeSlot : module];
  if (encoded == 0 && is_generated) {
    encoded = encoder->AddModule(policies::kGeneratedCodeModule, {}, 0) + 1;
  } else if (encoded == 0) {
    const stack::Module& loaded = modules.module(module);
    encoded = encoder->AddModule(facts_.scrubber.Path(loaded.path_view()).view(), loaded.build_id_view(),
                                 loaded.load_bias) +
              1;
  }
  return encoded - 1;
}

void ReportSink::ForgetModulesFrom(uint32_t first_encoded_index) {
  for (uint32_t i = 0; i < kModuleSlots; ++i) {
    if (encoded_modules_[i] > first_encoded_index) encoded_modules_[i] = 0;
  }
}

}  // namespace lagwatch::sdk
