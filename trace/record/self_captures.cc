// SPDX-License-Identifier: Apache-2.0
#include "trace/record/self_captures.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "trace/hooks/stack_copies.h"
#include "trace/record/cpu_timers.h"

namespace lagwatch::trace {
namespace {

size_t WalkByTables(const void* walker, const CallRegisters& from, uint64_t* program_counters,
                    size_t capacity, bool* is_complete) {
  return static_cast<const stack::OwnStackWalker*>(walker)->Walk(from, program_counters, capacity,
                                                                 is_complete);
}

// Whether the thread had a processor nearly all the time between two samples: then it did nothing else.
bool HasRunOn(const RunRecord& last, const RunRecord& next) {
  const int64_t passed_ns = next.begin_ns - last.end_ns;
  const int64_t used_ns = next.totals.cpu_ns - last.totals.cpu_ns;
  return used_ns > passed_ns - passed_ns / 8;
}

}  // namespace

base::Result<std::unique_ptr<SelfCaptures>> SelfCaptures::Start(const RecorderState& state,
                                                                std::shared_ptr<stack::CodeMap> code,
                                                                HookOptions options,
                                                                DispatchSource* dispatches) {
  auto walker = stack::OwnStackWalker::Create(code);
  if (!walker.ok()) return walker.status();
  std::unique_ptr<SelfCaptures> captures(new SelfCaptures(state, std::move(code), dispatches));
  captures->walker_ = std::move(walker).value();
  options.walker = WalkByTables;
  options.walker_context = captures->walker_.get();
  if (!captures->open_runs_.Resize(kOpenRuns) || !captures->last_copies_.Resize(kOpenRuns))
    return base::Status(base::StatusCode::kUnavailable, "no memory to record a trace with");
  if (base::Status status = captures->hooks_.Start(options); !status.ok()) return status;
  ActOnCpuTimers(true);
  return captures;
}

SelfCaptures::SelfCaptures(const RecorderState& state, std::shared_ptr<stack::CodeMap> code,
                           DispatchSource* dispatches)
    : state_(state),
      counters_(&state.arena->header().counters),
      code_(std::move(code)),
      dispatches_(dispatches),
      main_tid_(getpid()),
      main_writer_(state.arena->main_pool(), counters_),
      worker_writer_(state.arena->worker_pool(), counters_),
      stack_(new stack::Stack),
      dropped_captures_(HookRecorder::counters().threads.dropped_full),
      refused_copies_(g_stack_copies.refused_count()),
      copy_ticks_(g_stack_copies.spent_ticks()) {}

SelfCaptures::~SelfCaptures() {
  Stop();
  WriteOldSamples(INT64_MAX);
}

void SelfCaptures::Stop() {
  if (std::exchange(is_stopped_, true)) return;
  ActOnCpuTimers(false);
  if (hooks_.Stop()) return;
  is_stuck_ = true;
  static_cast<void>(walker_.release());  // some thread is still walking
}

void SelfCaptures::Drain(const ArenaClock& clock) {
  constexpr uint64_t kSameMs = 100;  // for so long a stack of the table is certainly not forgotten
  g_stack_copies.SetSameTicks(kSameMs * clock.TicksPerMs());
  hooks_.Drain([&](int32_t tid, const CaptureRecord& record, const uint64_t* program_counters) {
    Write(tid, record, program_counters, clock);
  });
  if (dispatches_ != nullptr) DrainDispatches(clock);
  WriteOldSamples(is_stopped_ ? INT64_MAX : clock.NowNs() - kMostHeldNs);
  const uint64_t dropped = HookRecorder::counters().threads.dropped_full;
  counters_->captures_dropped.Add(dropped - std::exchange(dropped_captures_, dropped));
  const uint64_t refused = g_stack_copies.refused_count();
  counters_->copies_refused.Add(refused - std::exchange(refused_copies_, refused));
  const uint64_t copy_ticks = g_stack_copies.spent_ticks();
  counters_->copy_ns.Add(static_cast<uint64_t>(clock.ToMonoNs(copy_ticks) -
                                               clock.ToMonoNs(std::exchange(copy_ticks_, copy_ticks))));
}

void SelfCaptures::Write(int32_t tid, const CaptureRecord& record, const uint64_t* program_counters,
                         const ArenaClock& clock) {
  bool is_complete = record.is_complete;
  RunRecord run{};
  run.stack = StackOfCopy(tid, record, &is_complete);
  if (run.stack == kNoStack) {
    stack_->Clear();
    stack_->frame_count = std::min<uint32_t>(record.depth, stack::kMaxFrames);
    for (uint32_t i = 0; i < stack_->frame_count; ++i)
      stack_->frames[i] = code_->Resolve(program_counters[i]);
    run.stack = Intern();
  }
  if (run.stack == kNoStack) return;
  run.begin_ns = clock.ToMonoNs(record.begin_ticks);
  run.end_ns = std::max(clock.ToMonoNs(record.end_ticks), run.begin_ns);
  run.tid = tid;
  run.count = 1;
  run.dispatch = record.dispatch;
  run.kind = static_cast<uint8_t>(record.run);
  run.call = static_cast<uint8_t>(record.call);
  run.is_for_all = record.is_for_all;
  run.is_complete = is_complete;
  run.object = record.object;
  run.totals = record.totals;
  counters_->raw_bytes.Add(kRawSampleBytes + record.depth * sizeof(uint64_t));
  if (record.run == RunKind::kSampled) {
    counters_->samples.Add();
    run.is_running = true;
    return AddSample(run);
  }
  counters_->captures.Add();
  FinishSamples(tid);
  run.has_totals = true;
  WriterOf(tid).Write(run);
}

uint32_t SelfCaptures::StackOfCopy(int32_t tid, const CaptureRecord& record, bool* is_complete) {
  if (record.stack_copy == 0) return kNoStack;
  LastCopy& last = last_copies_[static_cast<size_t>(tid) % kOpenRuns];
  if (record.stack_copy == StackCopies::kSame) {
    if (last.tid != tid || last.stack == kNoStack) return kNoStack;
    counters_->copies_same.Add();
    *is_complete = last.is_complete;
    return last.stack;
  }
  state_.scripts->Unwind(tid, g_stack_copies.Find(record.stack_copy), stack_.get());
  g_stack_copies.Give(record.stack_copy);
  last = {tid, stack_->frame_count == 0 ? kNoStack : Intern(), stack_->HasOutermost()};
  *is_complete = last.is_complete;
  return last.stack;
}

uint32_t SelfCaptures::Intern() {
  const std::lock_guard lock(*state_.stack_mutex);
  return state_.stacks->Intern(*stack_);
}

void SelfCaptures::DrainDispatches(const ArenaClock& clock) {
  for (DispatchNote note; dispatches_->TakeNote(&note);) {
    RunRecord record{};
    record.begin_ns = clock.ToMonoNs(note.begin_ticks);
    record.end_ns =
        note.has_ended ? std::max(clock.ToMonoNs(note.end_ticks), record.begin_ns) : record.begin_ns;
    record.tid = note.tid;
    record.dispatch = note.number;
    record.is_complete = note.has_ended;
    record.tag = {note.tag, strnlen(note.tag, sizeof note.tag)};
    WriterOf(note.tid).Write(record);
  }
  const uint64_t forgotten = dispatches_->forgotten_count();
  counters_->dispatches_refused.Add(forgotten - std::exchange(forgotten_dispatches_, forgotten));
}

void SelfCaptures::AddSample(const RunRecord& run) {
  RunRecord& open = open_runs_[static_cast<size_t>(run.tid) % kOpenRuns];
  const bool goes_on = open.tid == run.tid && open.stack == run.stack && open.dispatch == run.dispatch &&
                       open.is_complete == run.is_complete && HasRunOn(open, run);
  if (goes_on) {
    open.end_ns = run.end_ns;
    open.totals.cpu_ns = run.totals.cpu_ns;
    ++open.count;
    return;
  }
  WriteOpen(&open);
  open = run;
}

void SelfCaptures::FinishSamples(int32_t tid) {
  RunRecord& open = open_runs_[static_cast<size_t>(tid) % kOpenRuns];
  if (open.tid != tid) return;
  WriteOpen(&open);
  open.tid = 0;
}

void SelfCaptures::WriteOldSamples(int64_t before_ns) {
  for (RunRecord& open : open_runs_) {
    if (open.begin_ns < before_ns) WriteOpen(&open);
  }
}

void SelfCaptures::WriteOpen(RunRecord* open) {
  if (open->count == 0) return;
  WriterOf(open->tid).Write(*open);
  open->count = 0;
  open->begin_ns = open->end_ns;  // a run that goes on leaves no hole
}

}  // namespace lagwatch::trace
