// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <vector>

#include "trace/export/export.h"
#include "trace/export/timeline.h"
#include "trace/model/functions.h"
#include "trace/model/weights.h"

namespace lagwatch::trace {
namespace {

class SpeedscopeWriter {
 public:
  explicit SpeedscopeWriter(const Timeline& timeline) : timeline_(timeline), trace_(timeline.trace) {}

  std::string Write(const StackWeights& weights) {
    json_ =
        R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"lagwatch","name":)";
    AppendJson(ProfileName(), &json_);
    json_ += R"(,"activeProfileIndex":0,"shared":{"frames":[)";
    AddFrames();
    json_ += "]},\"profiles\":[";
    for (const Track& track : timeline_.tracks) {
      if (!track.slices.empty()) AddEvented(track);
    }
    AddSampled(weights);
    json_ += "]}\n";
    return std::move(json_);
  }

 private:
  std::string ProfileName() const {
    return trace_.process_name.empty() ? "process " + std::to_string(trace_.pid)
                                       : OneLine(trace_.process_name);
  }

  void Separate() {
    if (json_.back() != '[') json_ += ',';
  }

  // By function, the first line that was seen in it: the one nearest to its begin. 0: none is known.
  std::vector<uint32_t> FirstLines() const {
    std::vector<uint32_t> lines(timeline_.names.size());
    for (size_t i = 0; i < timeline_.functions.size(); ++i) {
      uint32_t& first = lines[timeline_.functions[i]];
      const uint32_t line = trace_.frames[i].line;
      if (first == 0 || (line != 0 && line < first)) first = line;
    }
    return lines;
  }

  // Functions, and behind them the threads, which are the roots of the sampled profile.
  void AddFrames() {
    const std::vector<uint32_t> lines = FirstLines();
    for (size_t i = 0; i < timeline_.names.size(); ++i) {
      Separate();
      json_ += "{\"name\":";
      AppendJson(timeline_.names[i], &json_);
      const std::string& file = trace_.frames[timeline_.frames[i]].file;
      if (!file.empty()) {
        json_ += ",\"file\":";
        AppendJson(file, &json_);
      }
      if (!file.empty() && lines[i] != 0) {
        json_ += ",\"line\":";
        AppendNumber(lines[i], &json_);
      }
      json_ += '}';
    }
    for (const Thread& thread : trace_.threads) {
      Separate();
      json_ += "{\"name\":";
      AppendJson(ThreadName(thread), &json_);
      json_ += '}';
    }
  }

  void BeginProfile(std::string_view type, const std::string& name, int64_t begin_ns, int64_t end_ns) {
    Separate();
    json_.append("{\"type\":\"").append(type).append("\",\"unit\":\"nanoseconds\",\"name\":");
    AppendJson(name, &json_);
    json_ += ",\"startValue\":";
    AppendNumber(begin_ns, &json_);
    json_ += ",\"endValue\":";
    AppendNumber(end_ns, &json_);
  }

  void AddEvent(char type, int64_t time_ns, const Slice& slice) {
    Separate();
    json_.append("{\"type\":\"").append(1, type).append("\",\"frame\":");
    AppendNumber(timeline_.functions[slice.frame], &json_);
    json_ += ",\"at\":";
    AppendNumber(time_ns - trace_.begin_ns, &json_);
    json_ += '}';
  }

  void AddEvented(const Track& track) {
    int64_t end_ns = trace_.end_ns;
    for (const Slice& slice : track.slices) end_ns = std::max(end_ns, slice.end_ns);
    const int64_t begin_ns = std::min(trace_.begin_ns, track.slices.front().begin_ns);
    BeginProfile("evented", TrackName(timeline_, track), begin_ns - trace_.begin_ns,
                 end_ns - trace_.begin_ns);
    json_ += ",\"events\":[";
    WalkTrack(
        track, [&](uint32_t index) { AddEvent('O', track.slices[index].begin_ns, track.slices[index]); },
        [&](uint32_t index) { AddEvent('C', track.slices[index].end_ns, track.slices[index]); });
    json_ += "]}";
  }

  void AddSampled(const StackWeights& weights) {
    int64_t total_ns = 0;
    for (const StackTime& weighted : weights.stacks) total_ns += std::max<int64_t>(weighted.time_ns, 0);
    BeginProfile("sampled", "all threads, by time", 0, total_ns);
    json_ += ",\"samples\":[";
    std::vector<uint32_t> path;
    for (const StackTime& weighted : weights.stacks) {
      if (weighted.time_ns <= 0) continue;
      Separate();
      json_ += '[';
      AppendNumber(static_cast<int64_t>(timeline_.names.size()) + weighted.thread, &json_);
      FindPath(weights.nodes, trace_.frames.size(), weighted.stack, &path);
      for (uint32_t node : path) {
        json_ += ',';
        AppendNumber(timeline_.functions[weights.nodes[node].frame], &json_);
      }
      json_ += ']';
    }
    json_ += "],\"weights\":[";
    for (const StackTime& weighted : weights.stacks) {
      if (weighted.time_ns <= 0) continue;
      Separate();
      AppendNumber(weighted.time_ns, &json_);
    }
    json_ += "]}";
  }

  const Timeline& timeline_;
  const Trace& trace_;
  std::string json_;
};

}  // namespace

std::string SpeedscopeJson(const Trace& trace, const SliceOptions& options) {
  const Timeline timeline = MakeTimeline(trace, options);
  return SpeedscopeWriter(timeline).Write(WeighStacks(trace, options));
}

}  // namespace lagwatch::trace
