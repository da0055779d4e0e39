// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/trace_json.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "collector/query/json/columns_json.h"
#include "trace/model/functions.h"
#include "trace/model/weights.h"

namespace lagwatch::collector {
namespace {

// Each function's frame once, and where it is in the list.
class FunctionFrames {
 public:
  explicit FunctionFrames(const trace::Trace& trace)
      : trace_(trace), functions_(trace::FunctionNumbers(trace)) {}

  size_t NumberOf(uint32_t frame) {
    const auto [number, is_new] = numbers_.try_emplace(functions_[frame], frames_.size());
    if (is_new) frames_.push_back(FrameJson(trace_.frames[frame]));
    return number->second;
  }
  Json ToJson() && { return std::move(frames_); }

 private:
  Json FrameJson(const trace::NamedFrame& frame) const {
    const bool has_module = frame.module != trace::kNoIndex;
    return {{"function", trace::DisplayName(trace_, frame)},
            {"module", has_module ? trace_.modules[frame.module].path : ""},
            {"file", frame.file.empty() ? Json() : Json(frame.file)},
            {"line", frame.line == 0 ? Json() : Json(frame.line)}};
  }

  const trace::Trace& trace_;
  const std::vector<uint32_t> functions_;
  std::map<uint32_t, size_t> numbers_;
  Json frames_ = Json::array();
};

Json ThreadsJson(const trace::Trace& trace, const trace::StackWeights& weights) {
  std::vector<int64_t> times_ns(trace.threads.size());
  for (const trace::StackTime& stack : weights.stacks) times_ns[stack.thread] += stack.time_ns;
  Json threads = Json::array();
  for (size_t i = 0; i < trace.threads.size(); ++i) {
    const trace::Thread& thread = trace.threads[i];
    threads.push_back({{"tid", thread.tid},
                       {"name", thread.name},
                       {"is_main", thread.tid == trace.pid},
                       {"known_ms", ToMs(static_cast<double>(times_ns[i]))}});
  }
  return threads;
}

Json LossesJson(const trace::Trace& trace) {
  Json losses = Json::array();
  for (const trace::Loss& loss : trace.losses)
    losses.push_back({{"what", loss.what}, {"count", loss.count}, {"remedy", loss.remedy}});
  return losses;
}

std::vector<trace::StackTime> LongestOf(const trace::Trace& trace, const trace::StackWeights& weights,
                                        int32_t tid) {
  std::vector<trace::StackTime> stacks;
  for (const trace::StackTime& stack : weights.stacks) {
    if (stack.time_ns > 0 && trace.threads[stack.thread].tid == tid) stacks.push_back(stack);
  }
  std::ranges::stable_sort(stacks, std::greater(), &trace::StackTime::time_ns);
  if (stacks.size() > kMaxTraceStacks) stacks.resize(kMaxTraceStacks);
  return stacks;
}

}  // namespace

Json TraceHeaderJson(const TraceRow& row) { return ColumnsJson(row, kTraceColumns); }

void AddFlame(const trace::Trace& trace, int32_t tid, Json* json) {
  const trace::StackWeights weights = trace::WeighStacks(trace);
  FunctionFrames frames(trace);
  Json stacks = Json::array();
  std::vector<uint32_t> path;
  for (const trace::StackTime& weighted : LongestOf(trace, weights, tid)) {
    trace::FindPath(weights.nodes, trace.frames.size(), weighted.stack, &path);
    Json stack = Json::array();
    for (auto node = path.rbegin(); node != path.rend(); ++node)
      stack.push_back(frames.NumberOf(weights.nodes[*node].frame));
    stacks.push_back({{"frames", std::move(stack)},
                      {"ms", ToMs(static_cast<double>(weighted.time_ns))},
                      {"count", weighted.count}});
  }
  (*json)["threads"] = ThreadsJson(trace, weights);
  (*json)["losses"] = LossesJson(trace);
  (*json)["tid"] = tid;
  (*json)["frames"] = std::move(frames).ToJson();
  (*json)["stacks"] = std::move(stacks);
}

}  // namespace lagwatch::collector
