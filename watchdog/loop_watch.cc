// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loop_watch.h"

#include <algorithm>

#include "base/safe_memory.h"
#include "policies/expensive_stack.h"

namespace lagwatch::watchdog {
namespace {

policies::CheckSchedule ScheduleOf(const WatchOptions& options) {
  return {options.threshold_ns, options.sample_interval_ns, options.ring_size};
}

// A little under the threshold, because ticks and nanoseconds are converted with a small error and the
// duration of a dispatch that was called a lag must be on record.
uint64_t SlowTicks(const WatchTools& tools) {
  constexpr int64_t kPercent = 98;
  return tools.tick_scale->ToTicks(tools.options->threshold_ns / 100 * kPercent);
}

}  // namespace

int64_t LoopWatch::Look(WatchedLoop* loop, const WatchTools& tools) {
  uint32_t generation = loop->generation.load(std::memory_order_acquire);  // pairs with the registry's stores
  if (generation != generation_) {
    Forget(*loop, tools);
    generation_ = generation;
  }
  loop->probe.SetSlowTicks(SlowTicks(tools));

  const policies::CheckSchedule schedule = ScheduleOf(*tools.options);
  int64_t now_ns = tools.clock->MonoNs();
  FinishIfOver(*loop, tools);
  const LoopProbe::Dispatch dispatch = loop->probe.Read();
  is_quiet_ = loop->probe.begun() == last_begun_;
  last_begun_ = loop->probe.begun();
  if (dispatch.number != 0 && number_ == 0) StartDispatch(dispatch, now_ns, tools);
  last_look_ns_ = now_ns;
  if (dispatch.number == 0) {
    guard_ = {};
    return now_ns + schedule.idle_sleep_ns();
  }

  if (now_ns >= schedule.WindowStartNs(next_check_ns_)) {
    if (!is_window_open_ && IsForADebugger(tools)) {
      next_check_ns_ = now_ns + tools.options->check_period_ns + schedule.window_ns();
      return schedule.WindowStartNs(next_check_ns_);
    }
    if (!is_window_open_) OpenWindow(*loop, dispatch.tag, now_ns, tools);
    if (now_ns >= next_sample_ns_ || now_ns >= next_check_ns_) TakeSample(*loop, now_ns, tools);
  }
  if (now_ns >= next_check_ns_) Check(*loop, now_ns, tools);

  int64_t next_ns =
      is_window_open_ ? std::min(next_sample_ns_, next_check_ns_) : schedule.WindowStartNs(next_check_ns_);
  // The end of a lag is to be on record soon, whatever the next check's date.
  return is_lagging_ ? std::min(next_ns, now_ns + tools.options->sample_interval_ns) : next_ns;
}

void LoopWatch::Discount(const policies::GuardFindings& findings) {
  guard_ += findings;
  if (number_ == 0) return;  // a dispatch that is not known yet is discounted when it is
  begin_ns_ += findings.stopped_ns;
  next_check_ns_ += findings.stopped_ns;
  if (is_window_open_) window_begin_ns_ += findings.stopped_ns;
}

void LoopWatch::FinishIfOver(const WatchedLoop& loop, const WatchTools& tools) {
  if (number_ != 0 && !loop.probe.IsStillIn(number_)) FinishDispatch(loop.probe, tools);
}

void LoopWatch::Forget(const WatchedLoop& loop, const WatchTools& tools) {
  // The probe goes on numbering whoever has the place, so its record of this dispatch is still found.
  if (number_ != 0) FinishDispatch(loop.probe, tools);
  generation_ = 0;
  guard_ = {};
  last_look_ns_ = 0;
}

void LoopWatch::StartDispatch(const LoopProbe::Dispatch& dispatch, int64_t now_ns, const WatchTools& tools) {
  number_ = dispatch.number;
  begin_ns_ = now_ns;
  if (dispatch.begin_ticks != LoopProbe::kUntimed) {
    base::TickPair now = base::ReadTickPair(*tools.clock);
    // Another processor's counter may be a little behind.
    uint64_t age_ticks = now.ticks > dispatch.begin_ticks ? now.ticks - dispatch.begin_ticks : 0;
    begin_ns_ = now.mono_ns - tools.tick_scale->ToNs(age_ticks);
  }
  // It had not begun at the last look, whatever the ticks say that go on while the machine sleeps; and what
  // the guard found since is not its fault.
  begin_ns_ = std::min(std::max(begin_ns_, last_look_ns_) + guard_.stopped_ns, now_ns);
  next_check_ns_ = begin_ns_ + tools.options->threshold_ns;
  is_window_open_ = false;
  is_lagging_ = false;
  report_count_ = 0;
  annealing_ = policies::Annealing(tools.options->check_period_ns, tools.options->annealing_cap_ns);
}

void LoopWatch::FinishDispatch(const LoopProbe& probe, const WatchTools& tools) {
  if (is_lagging_) {
    // By the clock it is over by now at the latest; exact is what the loop's own thread measured.
    int64_t duration_ns = tools.clock->MonoNs() - begin_ns_;
    uint64_t ticks = probe.SlowDurationTicks(number_);
    if (ticks != 0) duration_ns = std::min(duration_ns, tools.tick_scale->ToNs(ticks) - guard_.stopped_ns);
    for (uint32_t i = 0; i < report_count_; ++i) tools.sink->OnLagEnd(report_ids_[i], duration_ns);
  }
  number_ = 0;
  guard_ = {};
  is_lagging_ = false;
  is_window_open_ = false;
}

// A debugger stops threads one by one, which nobody can tell from a lag; and each of our signals would stop
// them once more.
bool LoopWatch::IsForADebugger(const WatchTools& tools) {
  guard_.debugger_pid = stack::ReadTracer();
  bool is_left_alone = guard_.debugger_pid != 0 && !tools.options->reports_under_debugger;
  tools.counters->checks_under_debugger.Add(is_left_alone);
  return is_left_alone;
}

void LoopWatch::OpenWindow(const WatchedLoop& loop, const char* tag, int64_t now_ns,
                           const WatchTools& tools) {
  is_window_open_ = true;
  sample_count_ = 0;
  next_sample_ns_ = now_ns;
  base::ReadOwnString(reinterpret_cast<uint64_t>(tag), tag_, sizeof tag_);
  if (!loop.probe.IsStillIn(number_)) tag_[0] = '\0';  // the string may have been another by then
  if (!is_lagging_) {                                  // CPU use is told from the dispatch's first window on
    window_begin_ns_ = now_ns;
    thread_cpu_begin_ns_ = base::ThreadCpuNs(loop.tid.load());
    process_cpu_begin_ns_ = base::ProcessCpuNs();
  }
  tools.capturer->RefreshModules();
}

void LoopWatch::TakeSample(const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools) {
  LoopSample& sample = ring_[sample_count_ % static_cast<size_t>(tools.options->ring_size)];
  next_sample_ns_ = now_ns + tools.options->sample_interval_ns;
  sample.mono_ns = now_ns;
  tools.capturer->Capture(loop.tid.load(), &sample.stack);
  // A stack of what came after the dispatch must not be blamed for it.
  if (!loop.probe.IsStillIn(number_)) return tools.counters->samples_discarded.Add();
  tools.counters->samples.Add();
  ++sample_count_;
}

void LoopWatch::Check(const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools) {
  if (sample_count_ == 0 || !loop.probe.IsStillIn(number_)) return;  // over: the next look finishes it
  size_t ring_size = static_cast<size_t>(tools.options->ring_size);
  size_t count = std::min(sample_count_, ring_size);
  const LoopSample* samples[WatchOptions::kMaxRingSize];
  const LoopSample*
      captured[WatchOptions::kMaxRingSize];  // those with a stack: a failure must not win by repeating
  uint64_t innermost[WatchOptions::kMaxRingSize];
  size_t captured_count = 0;
  for (size_t i = 0; i < count; ++i) {
    samples[i] = &ring_[(sample_count_ - count + i) % ring_size];
    if (samples[i]->stack.frame_count == 0) continue;
    innermost[captured_count] = samples[i]->stack.InnermostFunctionHash();
    captured[captured_count++] = samples[i];
  }
  const LoopSample* expensive_sample =
      captured_count == 0 ? samples[count - 1]
                          : captured[policies::PickExpensiveStack({innermost, captured_count})];
  const stack::Stack& expensive = expensive_sample->stack;

  if (!is_lagging_) tools.counters->lags.Add();
  uint64_t hash = expensive.FunctionHash();
  bool is_new = !is_lagging_ || hash != reported_hash_;
  is_lagging_ = true;
  reported_hash_ = hash;
  is_window_open_ = false;
  if (!is_new) {
    tools.counters->unchanged_checks.Add();
    next_check_ns_ = now_ns + annealing_.NextIntervalNs();
    return;
  }
  annealing_.Reset();
  next_check_ns_ = now_ns + tools.options->check_period_ns;
  if (report_count_ == kMaxReportsPerLag) return tools.counters->reports_over_lag_limit.Add();
  Report(loop, {samples, count}, expensive, now_ns, tools);
}

void LoopWatch::Report(const WatchedLoop& loop, std::span<const LoopSample* const> samples,
                       const stack::Stack& expensive, int64_t now_ns, const WatchTools& tools) {
  int32_t tid = loop.tid.load();
  int64_t wall_ms = tools.clock->WallMs();
  char name[WatchedLoop::kMaxNameBytes];
  loop.CopyName(name);
  report_ids_[report_count_] = base::CreateUuidV7(wall_ms);
  LagEvent event{};
  event.id = report_ids_[report_count_];
  event.lag_id = report_ids_[0];
  event.ordinal = report_count_;
  event.loop_name = name;
  event.tag = tag_;
  event.tid = tid;
  event.threshold_ns = tools.options->threshold_ns;
  event.start_wall_ms = wall_ms - (now_ns - begin_ns_) / base::kNsPerMs;
  event.detected_mono_ns = now_ns;
  event.elapsed_ns = now_ns - begin_ns_;
  event.cpu_window_ns = now_ns - window_begin_ns_;
  event.cpu_thread_ns = base::ThreadCpuNs(tid) - thread_cpu_begin_ns_;
  event.cpu_process_ns = base::ProcessCpuNs() - process_cpu_begin_ns_;
  tools.counters->waits_changed.Add(tools.waits->Follow(tid, tools.capturer));
  if (!loop.probe.IsStillIn(number_)) tools.waits->Clear();  // it waits for something else by now
  tools.threads->Capture(tid, expensive, tools.capturer);
  tools.counters->thread_stacks_reused.Add(tools.threads->reused_count());
  event.samples = samples;
  event.expensive_stack = &expensive;
  event.threads = tools.threads->threads();
  event.threads_dropped = tools.threads->dropped_count();
  event.waits = tools.waits->waits();
  event.wait_outcome = tools.waits->outcome();
  event.modules = &tools.capturer->modules();
  event.guard = guard_;
  if (!tools.sink->OnLag(event)) return tools.counters->reports_lost.Add();
  ++report_count_;
  tools.counters->reports.Add();
}

}  // namespace lagwatch::watchdog
