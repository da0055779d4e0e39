// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <vector>

#include "trace/export/export.h"
#include "trace/export/timeline.h"
#include "trace/model/functions.h"
#include "trace/model/wakes.h"

namespace lagwatch::trace {
namespace {

// Linux counts threads to 4'194'304 at most.
constexpr int64_t kSamplesTid = 10'000'000;

class ChromeWriter {
 public:
  explicit ChromeWriter(const Timeline& timeline) : timeline_(timeline), trace_(timeline.trace) {
    for (const std::string& name : timeline.names) AppendJson(name, &json_names_.emplace_back());
  }

  std::string Write() {
    json_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    Begin("M", "process_name", trace_.pid, trace_.begin_ns);
    EndWithArgument("name", OneLine(trace_.process_name));
    for (const Track& track : timeline_.tracks) {
      Begin("M", "thread_name", TidOf(track), trace_.begin_ns);
      EndWithArgument("name", TrackName(timeline_, track));
      for (const Slice& slice : track.slices) AddSlice(track, slice);
    }
    for (const Thread& thread : trace_.threads) AddCounters(thread);
    AddWakes();
    for (const Loss& loss : trace_.losses) AddLoss(loss);
    json_ += "\n]}\n";
    return std::move(json_);
  }

 private:
  int64_t TidOf(const Track& track) const {
    const int64_t tid = trace_.threads[track.thread].tid;
    return !track.is_instrumented && HasTwoTracks(timeline_, track) ? kSamplesTid + tid : tid;
  }

  void Begin(std::string_view phase, std::string_view name, int64_t tid, int64_t time_ns) {
    std::string json_name;
    AppendJson(name, &json_name);
    BeginNamed(phase, json_name, tid, time_ns);
  }
  void BeginNamed(std::string_view phase, const std::string& json_name, int64_t tid, int64_t time_ns) {
    json_ += json_.back() == '[' ? "\n" : ",\n";
    json_.append("{\"ph\":\"").append(phase).append("\",\"name\":").append(json_name);
    AddField("pid", trace_.pid);
    AddField("tid", tid);
    AddTime("ts", time_ns);
  }
  void AddField(std::string_view name, int64_t number) {
    if (json_.back() != '{') json_ += ',';
    json_.append("\"").append(name).append("\":");
    AppendNumber(number, &json_);
  }
  void AddTime(std::string_view name, int64_t time_ns) {
    json_.append(",\"").append(name).append("\":");
    AppendUs(time_ns, &json_);
  }
  void AddText(std::string_view name, std::string_view text) {
    if (json_.back() != '{') json_ += ',';
    json_.append("\"").append(name).append("\":");
    AppendJson(text, &json_);
  }
  void EndWithArgument(std::string_view name, std::string_view text) {
    json_ += ",\"args\":{";
    AddText(name, text);
    json_ += "}}";
  }
  void AddAbove0(std::string_view name, uint64_t number) {
    if (number != 0) AddField(name, static_cast<int64_t>(number));
  }

  void AddSlice(const Track& track, const Slice& slice) {
    BeginNamed("X", json_names_[timeline_.functions[slice.frame]], TidOf(track), slice.begin_ns);
    AddTime("dur", slice.end_ns - slice.begin_ns);
    AddText("cat", slice.is_estimated ? "estimated" : "exact");
    json_ += ",\"args\":{";
    AddAbove0("count", slice.count);
    AddAbove0("gap_ns", static_cast<uint64_t>(slice.gap_ns));
    AddAbove0("dispatch", slice.dispatch);
    if (slice.call != CallKind::kNone) AddText("call", NameOf(slice.call));
    if (slice.object != 0) AddText("object", Hex(slice.object));
    if (slice.is_unfinished) AddText("unfinished", "its end was not recorded");
    if (slice.used.has_value()) {
      AddAbove0("cpu_ns", static_cast<uint64_t>(slice.used->cpu_ns));
      AddAbove0("allocations", slice.used->allocations);
      AddAbove0("allocated_bytes", slice.used->allocated_bytes);
      AddAbove0("minor_faults", slice.used->minor_faults);
      AddAbove0("major_faults", slice.used->major_faults);
      AddAbove0("voluntary_switches", slice.used->voluntary_switches);
      AddAbove0("involuntary_switches", slice.used->involuntary_switches);
    }
    json_ += "}}";
  }

  void AddCounters(const Thread& thread) {
    for (const Run& run : thread.runs) {
      if (!run.totals.has_value()) continue;
      Begin("C", ThreadName(thread) + " " + std::to_string(thread.tid), thread.tid, run.end_ns);
      json_ += ",\"args\":{";
      AddField("cpu_ns", run.totals->cpu_ns);
      AddField("allocated_bytes", static_cast<int64_t>(run.totals->allocated_bytes));
      json_ += "}}";
    }
  }

  // They bind to the slices at these times.
  void AddWakes() {
    for (const Thread& thread : trace_.threads) wake_tids_.push_back(thread.tid);
    for (const Track& track : timeline_.tracks)
      if (!track.is_instrumented) wake_tids_[track.thread] = TidOf(track);
    int64_t id = 0;
    for (const Wake& wake : FindWakes(trace_)) {
      ++id;
      AddFlow("s", id, wake.waker_thread, wake.time_ns);
      AddFlow("f", id, wake.waiter_thread, wake.wake_ns);
    }
  }
  void AddFlow(std::string_view phase, int64_t id, uint32_t thread, int64_t time_ns) {
    Begin(phase, "wake", wake_tids_[thread], time_ns);
    AddText("cat", "wake");
    if (phase == "f") AddText("bp", "e");
    AddField("id", id);
    json_ += '}';
  }
  void AddLoss(const Loss& loss) {
    Begin("i", "lost: " + OneLine(loss.what), trace_.pid, trace_.begin_ns);
    AddText("s", "p");
    json_ += ",\"args\":{";
    AddField("count", static_cast<int64_t>(loss.count));
    AddText("remedy", OneLine(loss.remedy));
    json_ += "}}";
  }

  const Timeline& timeline_;
  const Trace& trace_;
  std::vector<std::string> json_names_;  // by function
  std::string json_;
  std::vector<int64_t> wake_tids_;  // by thread, of its samples
};

}  // namespace

std::string ChromeJson(const Trace& trace, const SliceOptions& options) {
  const Timeline timeline = MakeTimeline(trace, options);
  return ChromeWriter(timeline).Write();
}

}  // namespace lagwatch::trace
