// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/top/live_times.h"

#include <algorithm>
#include <ctime>
#include <set>

#include "base/clock.h"
#include "trace/model/functions.h"

namespace lagwatch::tools {
namespace {

// Samples within this margin around an interval show what threads did in it, even at the longest time
// between two samples.
constexpr int64_t kMarginNs = 150 * base::kNsPerMs;

int64_t ProcessCpuNs(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return used.tv_sec * base::kNsPerSecond + used.tv_nsec;
}

double PerSecond(double what, int64_t ns) {
  return ns > 0 ? what * static_cast<double>(base::kNsPerSecond) / static_cast<double>(ns) : 0;
}

void Add(const TimeTable& more, TimeTable* table) {
  table->all_ns += more.all_ns;
  if (table->by_function.size() < more.by_function.size()) table->by_function.resize(more.by_function.size());
  for (size_t i = 0; i < more.by_function.size(); ++i) {
    table->by_function[i].self_ns += more.by_function[i].self_ns;
    table->by_function[i].total_ns += more.by_function[i].total_ns;
    table->by_function[i].waited_ns += more.by_function[i].waited_ns;
  }
}

}  // namespace

bool LiveTimes::HasBegun() {
  const trace::ArenaHeader& header = arena_.header();
  if (header.state.load() == trace::ArenaState::kEmpty) return false;
  if (header.begin_mono_ns != begin_ns_) BeginAnew();
  return true;
}

bool LiveTimes::Refresh(bool is_over) {
  if (!HasBegun()) return false;
  const trace::ArenaHeader& header = arena_.header();
  const bool is_complete = is_over || header.state.load() == trace::ArenaState::kStopped;
  const int64_t until_ns = is_complete ? header.last_mono_ns.load() : header.complete_mono_ns.load();
  if (until_ns <= until_ns_) return false;

  trace::Trace trace = follower_.Read({until_ns_ - kMarginNs, until_ns + kMarginNs});
  namer_->Name(&trace);
  trace::StackWeights weights = trace::WeighRunningAndWaits(
      trace, until_ns_, until_ns, {header.main_interval_ns.load(), header.worker_interval_ns.load()});
  TakeFigures(trace, until_ns, weights);
  now_.last.with_waits = TableOf(trace, weights);
  std::erase_if(weights.stacks, [](const trace::StackTime& stack) { return stack.waited_ns != 0; });
  now_.last.running = TableOf(trace, weights);
  Add(now_.last.with_waits, &now_.since_begin.with_waits);
  Add(now_.last.running, &now_.since_begin.running);
  until_ns_ = until_ns;
  return true;
}

void LiveTimes::BeginAnew() {
  const trace::ArenaHeader& header = arena_.header();
  begin_ns_ = until_ns_ = header.begin_mono_ns;
  follower_ = trace::ArenaFollower(arena_);
  now_ = {};
  samples_ = 0;
  cpu_ns_ = ProcessCpuNs(header.pid);
  figures_ns_ = base::SystemClock().MonoNs();
}

TimeTable LiveTimes::TableOf(const trace::Trace& trace, const trace::StackWeights& weights) {
  TimeTable table;
  for (const trace::FunctionTime& time : trace::FindFunctionTimes(trace, weights)) {
    const uint32_t function = FunctionOf(trace, trace.frames[time.frame]);
    if (table.by_function.size() <= function) table.by_function.resize(function + 1);
    TimeTable::Times& times = table.by_function[function];
    times.self_ns += time.self_ns;
    times.total_ns += time.total_ns;
    times.waited_ns += time.waited_ns;
    table.all_ns += time.self_ns;
  }
  return table;
}

uint32_t LiveTimes::FunctionOf(const trace::Trace& trace, const trace::NamedFrame& frame) {
  const std::string path = frame.module < trace.modules.size() ? trace.modules[frame.module].path : "";
  uint64_t start = frame.function_offset;
  if (start == 0 && frame.name.empty()) start = frame.offset;
  const auto [place, is_new] =
      function_numbers_.try_emplace({path, start, frame.name}, static_cast<uint32_t>(functions_.size()));
  if (is_new) functions_.push_back({{}, path.substr(path.rfind('/') + 1)});
  functions_[place->second].name = trace::DisplayWithLine(trace, frame);
  return place->second;
}

void LiveTimes::TakeFigures(const trace::Trace& trace, int64_t until_ns, const trace::StackWeights& weights) {
  const trace::RecordCounters& counters = arena_.header().counters;
  std::set<uint32_t> threads;
  for (const trace::StackTime& weighted : weights.stacks) threads.insert(weighted.thread);
  const uint64_t samples = counters.samples.value() + counters.captures.value();
  const int64_t cpu_ns = ProcessCpuNs(trace.pid);
  const int64_t now_ns = base::SystemClock().MonoNs();
  const int64_t passed_ns = now_ns - figures_ns_;
  now_.figures.pid = trace.pid;
  now_.figures.process_name = trace.process_name;
  now_.figures.interval_ns = until_ns - until_ns_;
  now_.figures.elapsed_ns = until_ns - begin_ns_;
  now_.figures.thread_count = threads.size();
  now_.figures.samples_per_s = PerSecond(static_cast<double>(samples - samples_), passed_ns);
  // A process that has ended has no clock any more: its last value stays.
  if (cpu_ns >= cpu_ns_)
    now_.figures.processor_share =
        PerSecond(static_cast<double>(cpu_ns - cpu_ns_) / base::kNsPerSecond, passed_ns);
  now_.figures.losses = trace.losses;
  samples_ = samples;
  cpu_ns_ = std::max(cpu_ns, cpu_ns_);
  figures_ns_ = now_ns;
}

}  // namespace lagwatch::tools
