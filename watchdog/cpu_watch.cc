// SPDX-License-Identifier: Apache-2.0
#include "watchdog/cpu_watch.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "stack/threads/thread_state.h"
#include "watchdog/report_facts.h"

namespace lagwatch::watchdog {
namespace {

// A thread that uses less of a processor is not looked at; a process that does is idle.
constexpr int32_t kFloorPercent = 5;
// Loops are not looked at while stacks are captured.
constexpr int64_t kCaptureBudgetNs = 50 * base::kNsPerMs;

struct BusyNames {
  const char* name;
  const char* tid;
  const char* percent;
};
constexpr BusyNames kBusyNames[] = {{"busiest_1_name", "busiest_1_tid", "busiest_1_percent"},
                                    {"busiest_2_name", "busiest_2_tid", "busiest_2_percent"},
                                    {"busiest_3_name", "busiest_3_tid", "busiest_3_percent"}};

}  // namespace

CpuWatch::CpuWatch(const CpuOptions& options, int32_t max_threads)
    : options_(options), spell_(options.window_ns), window_(options.window_ns), threads_(max_threads) {}

void CpuWatch::Restart(const base::Process& process, int64_t now_ns) {
  window_.Restart();
  samples_.Clear();
  last_look_ns_ = now_ns;
  last_process_cpu_ns_ = process.CpuNs();
  is_idle_ = false;
  threads_.Forget();
  busy_count_ = 0;
}

int64_t CpuWatch::Look(bool is_foreground, const WatchTools& tools) {
  const int64_t now_ns = tools.clock->MonoNs();
  if (last_look_ns_ == 0 || is_foreground != is_foreground_) {
    is_foreground_ = is_foreground;
    Restart(tools.process(), now_ns);
    return NextLookNs();
  }
  if (now_ns < last_look_ns_ + options_.interval_ns) return NextLookNs();

  const int64_t wall_ns = now_ns - std::exchange(last_look_ns_, now_ns);
  const int64_t process_cpu_ns = tools.process().CpuNs();
  const int64_t cpu_ns = process_cpu_ns - std::exchange(last_process_cpu_ns_, process_cpu_ns);
  for (size_t begun = window_.Add(wall_ns, cpu_ns); begun != 0; --begun) samples_.BeginSlice();
  is_idle_ = !policies::IsOverPercent(cpu_ns, wall_ns, 1, kFloorPercent);
  if (is_idle_) {
    threads_.Forget();
    spell_.Update(false, now_ns);
  } else {
    cores_ = CountUsableCores(tools.process());
    if (threads_.Look(tools.process(), now_ns)) JudgeThreads(wall_ns, cpu_ns, now_ns, tools);
  }
  JudgeWindow(now_ns, tools);
  return NextLookNs();
}

void CpuWatch::JudgeThreads(int64_t wall_ns, int64_t cpu_ns, int64_t now_ns, const WatchTools& tools) {
  const policies::BusiestThreads& busiest = threads_.busiest();
  const bool is_thread_over = !busiest.Over(options_.percent, wall_ns, 1).empty();
  const bool is_process_over = policies::IsOverPercent(cpu_ns, wall_ns, cores_, options_.percent);
  const bool is_over = options_.percent != 0 && (is_thread_over || is_process_over);
  const bool is_for_window =
      average_limit() != 0 && policies::IsOverPercent(cpu_ns, wall_ns, cores_, average_limit() / 2);
  if (busiest.all().empty() || IsLeftToADebugger(is_over || is_for_window, tools)) return;
  const bool is_to_be_reported = spell_.Update(is_over, now_ns);
  if (!is_to_be_reported && !is_for_window) return;

  auto threads = busiest.Over(kFloorPercent, wall_ns,
                              is_for_window ? policies::BusiestThreads::kMaxThreads : kMaxReported);
  // Many threads may use little each: then the busiest stands for them.
  if (threads.empty()) threads = busiest.all().first(1);
  Capture(threads, wall_ns, is_for_window, now_ns, tools);
  if (!is_to_be_reported || busy_count_ == 0) return;
  const LoopSample* samples[kMaxReported];
  for (size_t i = 0; i < busy_count_; ++i) samples[i] = &busy_[i].sample;
  Report({.kind = HangKind::kCpu,
          .wall_ns = wall_ns,
          .cpu_ns = cpu_ns,
          .thread_cpu_ns = busiest.all().front().cpu_ns,
          .limit_percent = options_.percent,
          .limit_of = is_process_over ? "process" : "thread"},
         {samples, busy_count_}, now_ns, tools);
}

void CpuWatch::JudgeWindow(int64_t now_ns, const WatchTools& tools) {
  // A report without stacks would say little: they come with the next looks, if it goes on.
  if (!window_.is_full() || samples_.empty()) return;
  if (!policies::IsOverPercent(window_.cpu_ns(), window_.wall_ns(), cores_, average_limit())) return;
  Report({.kind = HangKind::kCpuAverage,
          .wall_ns = window_.wall_ns(),
          .cpu_ns = window_.cpu_ns(),
          .thread_cpu_ns = 0,
          .limit_percent = average_limit(),
          .limit_of = "process"},
         samples_.Heaviest(), now_ns, tools);
  // A whole window again before the next report: that is the cool-down.
  window_.Restart();
  samples_.Clear();
}

// Each of our signals would stop them once more.
bool CpuWatch::IsLeftToADebugger(bool is_of_interest, const WatchTools& tools) {
  return is_of_interest && !tools.options->reports_under_debugger && stack::ReadTracer(tools.process()) != 0;
}

void CpuWatch::Capture(std::span<const policies::ThreadLoad> threads, int64_t wall_ns, bool is_for_window,
                       int64_t now_ns, const WatchTools& tools) {
  const int64_t deadline_ns = now_ns + kCaptureBudgetNs;
  tools.capturer->RefreshModules();
  busy_count_ = 0;
  for (const policies::ThreadLoad& thread : threads) {
    if (busy_count_ != 0 && tools.clock->MonoNs() >= deadline_ns) return;  // one is captured in any case
    const char state = stack::ReadThreadStateLetter(tools.thread(thread.tid));
    const bool is_asleep = state != 'R';
    if (is_for_window && is_asleep) samples_.AddAsleep(thread.tid, thread.cpu_ns);
    if (busy_count_ == kMaxReported && is_asleep) continue;
    tools.capturer->Capture(thread.tid, &stack_);
    tools.counters->samples.Add();
    if (is_for_window && !is_asleep) samples_.Add(thread.tid, stack_, thread.cpu_ns, now_ns);
    if (busy_count_ == kMaxReported) continue;
    BusyThread& busy = busy_[busy_count_++];
    busy.percent = policies::PercentOf(thread.cpu_ns, wall_ns);
    busy.sample.mono_ns = now_ns;
    busy.sample.use = {};
    busy.sample.use.cpu_ns = thread.cpu_ns;
    busy.sample.stack.CopyFrom(stack_);
    ThreadSnapshot& snapshot = busy.snapshot;
    snapshot.tid = thread.tid;
    stack::ReadThreadName(tools.thread(thread.tid), snapshot.name, sizeof snapshot.name);
    snapshot.state = state;
    snapshot.cpu_ns = std::max<int64_t>(tools.thread(thread.tid).CpuNs(), 0);
    snapshot.syscall_number = -1;
    snapshot.wait_channel[0] = '\0';
    snapshot.stack.CopyFrom(stack_);
  }
}

void CpuWatch::Report(const Findings& findings, std::span<const LoopSample* const> samples, int64_t now_ns,
                      const WatchTools& tools) {
  const int64_t wall_ms = tools.clock->WallMs();
  FactList facts;
  facts.Add("cores", cores_);
  facts.Add("process_percent", policies::PercentOf(findings.cpu_ns, findings.wall_ns));
  facts.Add("limit_percent", findings.limit_percent);
  facts.AddText("limit_of", findings.limit_of);
  AddThreadFacts(busy_count_ == 0 ? tools.process().pid() : busy_[0].snapshot.tid, tools, &facts);
  const ThreadSnapshot* threads[kMaxReported];
  for (size_t i = 0; i < busy_count_; ++i) {
    threads[i] = &busy_[i].snapshot;
    facts.AddText(kBusyNames[i].name, busy_[i].snapshot.name);
    facts.Add(kBusyNames[i].tid, busy_[i].snapshot.tid);
    facts.Add(kBusyNames[i].percent, busy_[i].percent);
  }
  if (findings.kind == HangKind::kCpuAverage) {
    facts.Add("left_out_ms", samples_.left_out_ns() / base::kNsPerMs);
    facts.Add("found_asleep_ms", samples_.asleep_ns() / base::kNsPerMs);
  }

  HangEvent event{};
  event.id = event.hang_id = base::CreateUuidV7(wall_ms);
  event.kind = findings.kind;
  event.level = HangLevel::kHang;
  event.tid = busy_count_ == 0 ? 0 : static_cast<uint32_t>(busy_[0].snapshot.tid);
  event.start_wall_ms = wall_ms - findings.wall_ns / base::kNsPerMs;
  event.detected_mono_ns = now_ns;
  event.cpu_window_ns = findings.wall_ns;
  event.cpu_thread_ns = findings.thread_cpu_ns;
  event.cpu_process_ns = findings.cpu_ns;
  event.samples = samples;
  event.expensive_stack = &samples.front()->stack;
  event.threads = {threads, busy_count_};
  event.facts = facts.all();
  event.modules = &tools.capturer->modules();
  event.script_functions = &tools.capturer->code().script_functions();
  (tools.sink->OnHang(event) ? tools.counters->reports : tools.counters->reports_lost).Add();
}

}  // namespace lagwatch::watchdog
