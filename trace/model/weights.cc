// SPDX-License-Identifier: Apache-2.0
#include "trace/model/weights.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/model/functions.h"
#include "trace/model/slices.h"

namespace lagwatch::trace {
namespace {

struct Weight {
  int64_t time_ns = 0;
  int64_t waited_ns = 0;
  uint64_t count = 0;
};
using WeightByStack = std::map<uint32_t, Weight>;

// Not std::llround() and std::ceil(), which would be the only reason to load libm into a watched program. Of
// what is not negative.
int64_t Rounded(double ns) { return static_cast<int64_t>(ns + 0.5); }
uint64_t RoundedUp(double count) {
  const auto whole = static_cast<uint64_t>(count);
  return static_cast<double>(whole) < count ? whole + 1 : whole;
}

// The node that is so many frames from the outermost one; kNoIndex for none.
uint32_t NodeAtDepth(const Trace& trace, uint32_t node, uint32_t depth, std::vector<uint32_t>* path) {
  FindPath(trace.nodes, trace.frames.size(), node, path);
  if (depth == 0 || path->empty()) return kNoIndex;
  return (*path)[std::min<size_t>(depth, path->size()) - 1];
}

// A call that has its own times gives the rest to its callers.
WeightByStack WeighSeen(const Trace& trace, const Thread& thread, const std::vector<Span>& spans) {
  WeightByStack weights;
  std::vector<uint32_t> path;
  for (const Span& span : spans) {
    const Run& run = thread.runs[span.run];
    Weight& weight = weights[run.stack];
    weight.count += span.count;
    if (run.kind == RunKind::kSampled) {
      weight.time_ns += span.weight_ns;
      if (!run.is_running) weight.waited_ns += span.weight_ns;
      continue;
    }
    const int64_t seen_ns = span.seen_end_ns - span.seen_begin_ns;
    int64_t own_ns = span.seen_end_ns - span.begin_ns;
    if (run.kind == RunKind::kWaited) weight.waited_ns += seen_ns;
    if (span.has_own_leaf) {
      const uint32_t caller = trace.nodes[run.stack].parent;
      const int64_t callers_ns = own_ns - (run.kind == RunKind::kWaited ? seen_ns : 0);
      if (caller < run.stack && callers_ns != 0) weights[caller].time_ns += callers_ns;
      own_ns -= callers_ns;
    }
    weight.time_ns += own_ns;
    const uint32_t lasting = NodeAtDepth(trace, run.stack, span.lasting_depth, &path);
    if (lasting != kNoIndex) weights[lasting].time_ns += span.end_ns - span.seen_end_ns;
  }
  return weights;
}

// Nodes of calls, each once for the same functions.
class CallNodes {
 public:
  CallNodes(const std::vector<uint32_t>& functions, std::vector<StackNode>* nodes)
      : functions_(functions), nodes_(nodes) {}

  uint32_t Find(uint32_t parent, uint32_t frame) {
    const auto number = static_cast<uint32_t>(nodes_->size());
    const auto [found, is_new] = numbers_.try_emplace({parent, functions_[frame]}, number);
    if (is_new) nodes_->push_back({.parent = parent, .frame = frame});
    return found->second;
  }

 private:
  const std::vector<uint32_t>& functions_;
  std::vector<StackNode>* nodes_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;
};

WeightByStack WeighCalls(const Track& track, CallNodes* nodes) {
  WeightByStack weights;
  std::vector<uint32_t> node_of(track.slices.size());
  for (size_t i = 0; i < track.slices.size(); ++i) {
    const Slice& slice = track.slices[i];
    const uint32_t parent = slice.parent == kNoIndex ? kNoIndex : node_of[slice.parent];
    node_of[i] = nodes->Find(parent, slice.frame);
    Weight& weight = weights[node_of[i]];
    weight.time_ns += slice.end_ns - slice.begin_ns;
    ++weight.count;
    if (parent != kNoIndex) weights[parent].time_ns -= slice.end_ns - slice.begin_ns;
  }
  return weights;
}

void Append(uint32_t thread, const WeightByStack& weights, StackWeights* all) {
  for (const auto& [stack, weight] : weights)
    all->stacks.push_back({thread, stack, weight.time_ns, weight.waited_ns, weight.count});
}

// The number of the run's samples before `time_ns`, which are assumed to be equally spaced.
uint64_t LooksBefore(const Run& run, int64_t time_ns) {
  if (time_ns <= run.begin_ns || run.count == 0) return 0;
  if (time_ns > run.end_ns) return run.count;
  const double passed = static_cast<double>(time_ns - run.begin_ns) /
                        static_cast<double>(run.end_ns - run.begin_ns) * (run.count - 1);
  return std::min<uint64_t>(run.count, RoundedUp(passed));
}

WeightByStack WeighCpuLooks(const Trace& trace, const Thread& thread, const SliceOptions& options,
                            int64_t interval_ns) {
  WeightByStack weights;
  for (const Run& run : thread.runs) {
    if (!run.is_running || run.stack >= trace.nodes.size()) continue;
    const uint64_t looks = LooksBefore(run, options.until_ns) - LooksBefore(run, options.from_ns);
    if (looks == 0) continue;
    Weight& weight = weights[run.stack];
    weight.time_ns += static_cast<int64_t>(looks) * interval_ns;
    weight.count += looks;
  }
  return weights;
}

int64_t TimeOf(const WeightByStack& weights) {
  int64_t time_ns = 0;
  for (const auto& [stack, weight] : weights) time_ns += weight.time_ns;
  return time_ns;
}

// The part of the weights that is waits, in proportion no more than `most_ns` in all.
WeightByStack WaitsOf(const WeightByStack& weights, int64_t most_ns) {
  WeightByStack waits;
  int64_t all_ns = 0;
  for (const auto& [stack, weight] : weights) {
    if (weight.waited_ns <= 0) continue;
    waits[stack] = {weight.waited_ns, weight.waited_ns, weight.count};
    all_ns += weight.waited_ns;
  }
  const double share = static_cast<double>(std::max<int64_t>(most_ns, 0)) / static_cast<double>(all_ns);
  if (all_ns == 0 || share >= 1) return waits;
  for (auto& [stack, weight] : waits)
    weight.time_ns = weight.waited_ns = Rounded(static_cast<double>(weight.waited_ns) * share);
  return waits;
}

// Divides the time that was not waiting. Captures inside hooked calls show only the stacks around these
// calls, and what two of them share. Samples of CPU timers have no such bias: where there are any, they
// divide the time second by second, because a processor may be easier to get in one second than in another.
class TimeByTimers {
 public:
  TimeByTimers(const Thread& thread, const std::vector<Span>& spans) : thread_(thread), spans_(spans) {
    if (spans.empty()) return;
    constexpr int64_t kShortestNs = 1'000'000'000;
    constexpr int64_t kMostWindows = 4096;
    begin_ns_ = spans.front().begin_ns;
    window_ns_ = std::max(kShortestNs, (spans.back().end_ns - begin_ns_) / kMostWindows + 1);
    windows_.resize(static_cast<size_t>((spans.back().end_ns - begin_ns_) / window_ns_ + 1));
  }

  bool IsNeeded() const {
    const auto favours_calls = [](const Run& run) { return run.kind != RunKind::kSampled; };
    return std::ranges::any_of(thread_.runs, favours_calls) &&
           std::ranges::any_of(thread_.runs, &Run::is_running);
  }

  void ShareOut(WeightByStack* weights) {
    for (const Span& span : spans_) {
      const Run& run = thread_.runs[span.run];
      const bool is_wait = run.kind == RunKind::kSampled ? !run.is_running : run.kind == RunKind::kWaited;
      AddTime(span.begin_ns, span.seen_begin_ns, run.kind != RunKind::kSampled || run.is_running);
      AddTime(span.seen_begin_ns, span.seen_end_ns, !is_wait);
      AddTime(span.seen_end_ns, span.end_ns, run.kind != RunKind::kSampled || run.is_running);
      if (run.is_running) AddLooks(run);
    }
    for (auto& [stack, weight] : *weights) weight.time_ns = weight.waited_ns;
    double time_ns = 0;  // with that of windows in which there was no look
    const Window* last = nullptr;
    for (const Window& window : windows_) {
      time_ns += window.time_ns;
      if (window.look_count == 0) continue;
      last = &window;
      window.Give(std::exchange(time_ns, 0), weights);
    }
    if (last != nullptr) last->Give(time_ns, weights);
  }

 private:
  struct Window {
    double time_ns = 0;
    uint64_t look_count = 0;
    std::map<uint32_t, uint64_t> looks;  // by stack

    void Give(double ns, WeightByStack* weights) const {
      for (const auto& [stack, count] : looks)
        (*weights)[stack].time_ns +=
            Rounded(ns * static_cast<double>(count) / static_cast<double>(look_count));
    }
  };

  size_t IndexOf(int64_t time_ns) const {
    const int64_t index = (time_ns - begin_ns_) / window_ns_;
    return std::min(static_cast<size_t>(std::max<int64_t>(index, 0)), windows_.size() - 1);
  }
  int64_t EndOf(size_t window) const { return begin_ns_ + static_cast<int64_t>(window + 1) * window_ns_; }

  void AddTime(int64_t begin_ns, int64_t end_ns, bool has_run) {
    for (size_t i = IndexOf(begin_ns); has_run && begin_ns < end_ns; ++i) {
      const int64_t until_ns = i + 1 == windows_.size() ? end_ns : std::min(end_ns, EndOf(i));
      windows_[i].time_ns += static_cast<double>(until_ns - begin_ns);
      begin_ns = until_ns;
    }
  }

  void AddLooks(const Run& run) {
    uint64_t counted = 0;
    for (size_t i = IndexOf(run.begin_ns); counted < run.count && i < windows_.size(); ++i) {
      const uint64_t looks = i == IndexOf(run.end_ns) ? run.count : LooksBefore(run, EndOf(i));
      if (looks == counted) continue;
      windows_[i].looks[run.stack] += looks - counted;
      windows_[i].look_count += looks - counted;
      counted = looks;
    }
  }

  const Thread& thread_;
  const std::vector<Span>& spans_;
  int64_t begin_ns_ = 0;
  int64_t window_ns_ = 1;
  std::vector<Window> windows_;
};

}  // namespace

StackWeights WeighStacks(const Trace& trace, const SliceOptions& options) {
  const std::vector<uint32_t> functions = FunctionNumbers(trace);
  StackWeights all{.nodes = trace.nodes, .stacks = {}};
  CallNodes call_nodes(functions, &all.nodes);
  for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
    const std::vector<Span> spans = FindSpans(trace, trace.threads[thread], functions, options);
    WeightByStack weights = WeighSeen(trace, trace.threads[thread], spans);
    TimeByTimers by_timers(trace.threads[thread], spans);
    if (by_timers.IsNeeded()) by_timers.ShareOut(&weights);
    if (weights.empty()) weights = WeighCalls(BuildInstrumentedTrack(trace, thread, functions), &call_nodes);
    Append(thread, weights, &all);
  }
  return all;
}

StackWeights WeighRunningAndWaits(const Trace& trace, int64_t from_ns, int64_t until_ns,
                                  const CpuIntervals& intervals) {
  const std::vector<uint32_t> functions = FunctionNumbers(trace);
  const SliceOptions options{.extension_ns = 0, .from_ns = from_ns, .until_ns = until_ns};
  StackWeights all{.nodes = trace.nodes, .stacks = {}};
  for (uint32_t index = 0; index < trace.threads.size(); ++index) {
    const Thread& thread = trace.threads[index];
    const int64_t interval_ns = thread.tid == trace.pid ? intervals.main_ns : intervals.others_ns;
    const WeightByStack running = WeighCpuLooks(trace, thread, options, interval_ns);
    Append(index, running, &all);
    const WeightByStack seen = WeighSeen(trace, thread, FindSpans(trace, thread, functions, options));
    Append(index, WaitsOf(seen, until_ns - from_ns - TimeOf(running)), &all);
  }
  return all;
}

std::vector<FunctionTime> FindFunctionTimes(const Trace& trace, const SliceOptions& options) {
  return FindFunctionTimes(trace, WeighStacks(trace, options));
}

std::vector<FunctionTime> FindFunctionTimes(const Trace& trace, const StackWeights& weights) {
  const std::vector<uint32_t> functions = FunctionNumbers(trace);
  std::vector<FunctionTime> times(trace.frames.size());  // by the function's number
  std::vector<size_t> counted_in(trace.frames.size(), 0);
  std::vector<int64_t> by_frame_ns(trace.frames.size(), 0);
  for (uint32_t frame = 0; frame < functions.size(); ++frame) times[functions[frame]].frame = frame;
  for (size_t i = 0; i < weights.stacks.size(); ++i) {
    const StackTime& weighted = weights.stacks[i];
    for (uint32_t node = weighted.stack; node != kNoIndex; node = weights.nodes[node].parent) {
      const uint32_t function = functions[weights.nodes[node].frame];
      FunctionTime& time = times[function];
      by_frame_ns[weights.nodes[node].frame] += weighted.time_ns;
      if (node == weighted.stack) time.self_ns += weighted.time_ns;
      if (counted_in[function] == i + 1) continue;  // it called itself
      counted_in[function] = i + 1;
      time.total_ns += weighted.time_ns;
      time.waited_ns += weighted.waited_ns;
      time.count += weighted.count;
    }
  }
  for (uint32_t frame = 0; frame < functions.size(); ++frame) {
    uint32_t& most = times[functions[frame]].frame;
    if (by_frame_ns[frame] > by_frame_ns[most]) most = frame;
  }
  std::erase_if(times, [](const FunctionTime& time) { return time.count == 0; });
  std::ranges::sort(times, [](const FunctionTime& a, const FunctionTime& b) {
    return a.self_ns != b.self_ns ? a.self_ns > b.self_ns : a.total_ns > b.total_ns;
  });
  return times;
}

}  // namespace lagwatch::trace
