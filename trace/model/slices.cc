// SPDX-License-Identifier: Apache-2.0
#include "trace/model/slices.h"

#include <algorithm>
#include <utility>

#include "trace/model/functions.h"

namespace lagwatch::trace {
namespace {

template <typename Number>
Number Growth(Number from, Number to) {
  return to > from ? to - from : 0;
}

// The counts between two samples.
Totals Difference(const Totals& from, const Totals& to) {
  return {.cpu_ns = Growth(from.cpu_ns, to.cpu_ns),
          .allocations = Growth(from.allocations, to.allocations),
          .allocated_bytes = Growth(from.allocated_bytes, to.allocated_bytes),
          .minor_faults = Growth(from.minor_faults, to.minor_faults),
          .major_faults = Growth(from.major_faults, to.major_faults),
          .voluntary_switches = Growth(from.voluntary_switches, to.voluntary_switches),
          .involuntary_switches = Growth(from.involuntary_switches, to.involuntary_switches)};
}

void AddTo(std::optional<Totals>* sum, const Totals& more) {
  if (!sum->has_value()) sum->emplace();
  Totals& totals = **sum;
  totals.cpu_ns += more.cpu_ns;
  totals.allocations += more.allocations;
  totals.allocated_bytes += more.allocated_bytes;
  totals.minor_faults += more.minor_faults;
  totals.major_faults += more.major_faults;
  totals.voluntary_switches += more.voluntary_switches;
  totals.involuntary_switches += more.involuntary_switches;
}

class SampledTrackBuilder {
 public:
  SampledTrackBuilder(const Trace& trace, uint32_t thread, const std::vector<uint32_t>& functions)
      : trace_(trace), runs_(trace.threads[thread].runs), functions_(functions) {
    track_.thread = thread;
  }

  void Add(const Span& span) {
    const Run& run = runs_[span.run];
    FindPath(trace_.nodes, trace_.frames.size(), run.stack, &path_);
    const size_t leaf_count = span.has_own_leaf && !path_.empty() ? 1 : 0;
    const std::vector<uint32_t> before = run.totals.has_value() ? open_ : std::vector<uint32_t>();
    open_.resize(span.follows ? SharedDepth(path_.size() - leaf_count) : 0);
    while (open_.size() + leaf_count < path_.size()) open_.push_back(Begin(span.begin_ns, run));
    for (size_t depth = 0; depth < open_.size(); ++depth) {
      Slice& slice = track_.slices[open_[depth]];
      const bool is_lasting = depth < span.lasting_depth;
      slice.end_ns = is_lasting ? span.end_ns : span.seen_end_ns;
      slice.count += span.count;
      if (is_lasting) slice.gap_ns += span.gap_ns;
    }
    if (leaf_count != 0) AddLeaf(span, run);
    if (run.totals.has_value()) Attribute(before, run.end_ns, *run.totals);
  }

  Track Take() { return std::move(track_); }

 private:
  size_t SharedDepth(size_t limit) const {
    const size_t most = std::min(limit, open_.size());
    size_t depth = 0;
    while (depth < most &&
           functions_[track_.slices[open_[depth]].frame] == functions_[trace_.nodes[path_[depth]].frame])
      ++depth;
    return depth;
  }

  // The slice of the next frame of path_.
  uint32_t Begin(int64_t begin_ns, const Run& run) {
    Slice slice;
    slice.begin_ns = slice.end_ns = begin_ns;
    if (!open_.empty()) slice.parent = open_.back();
    slice.depth = static_cast<uint32_t>(open_.size());
    slice.frame = trace_.nodes[path_[open_.size()]].frame;
    slice.dispatch = run.dispatch;
    slice.is_estimated = true;
    track_.slices.push_back(slice);
    return static_cast<uint32_t>(track_.slices.size() - 1);
  }

  void AddLeaf(const Span& span, const Run& run) {
    Slice& leaf = track_.slices[Begin(span.seen_begin_ns, run)];
    leaf.count = span.count;
    leaf.call = run.call;
    leaf.object = run.object;
    leaf.is_estimated = run.kind != RunKind::kWaited;
    if (run.kind == RunKind::kWaited) leaf.end_ns = span.seen_end_ns;
  }

  // Attributes to the slices that lasted from the last look with totals to this one. `before`: those open
  // just before it.
  void Attribute(const std::vector<uint32_t>& before, int64_t time_ns, const Totals& totals) {
    if (last_totals_.has_value()) {
      const Totals used = Difference(*last_totals_, totals);
      for (uint32_t index : before) {
        Slice& slice = track_.slices[index];
        if (slice.begin_ns <= last_time_ns_ && slice.end_ns >= time_ns) AddTo(&slice.used, used);
      }
    }
    last_time_ns_ = time_ns;
    last_totals_ = totals;
  }

  const Trace& trace_;
  const std::vector<Run>& runs_;
  const std::vector<uint32_t>& functions_;
  Track track_;
  std::vector<uint32_t> open_;  // slices that the last span's stack is in, outermost first
  std::vector<uint32_t> path_;  // of nodes, of the span at hand
  int64_t last_time_ns_ = 0;
  std::optional<Totals> last_totals_;
};

class CallTrackBuilder {
 public:
  CallTrackBuilder(uint32_t thread, const std::vector<uint32_t>& functions)
      : functions_(functions), open_counts_(functions.size()) {
    track_.thread = thread;
    track_.is_instrumented = true;
  }

  void Add(const CallEvent& event) {
    if (event.frame >= functions_.size()) return;
    last_ns_ = std::max(last_ns_, event.time_ns);
    if (event.is_enter) {
      Enter(event.frame);
    } else {
      Leave(functions_[event.frame]);
    }
  }

  Track Finish(int64_t end_ns) {
    last_ns_ = std::max(last_ns_, end_ns);
    while (!open_.empty()) Close(/*is_unfinished=*/true);
    return std::move(track_);
  }

 private:
  void Enter(uint32_t frame) {
    Slice slice;
    slice.begin_ns = slice.end_ns = last_ns_;
    if (!open_.empty()) slice.parent = open_.back();
    slice.depth = static_cast<uint32_t>(open_.size());
    slice.frame = frame;
    slice.count = 1;
    ++open_counts_[functions_[frame]];
    open_.push_back(static_cast<uint32_t>(track_.slices.size()));
    track_.slices.push_back(slice);
  }

  // Functions left over within it have returned unseen: by longjmp(), or their end was not recorded.
  void Leave(uint32_t function) {
    if (open_counts_[function] == 0) {
      ++track_.orphan_end_count;
      return;
    }
    while (functions_[track_.slices[open_.back()].frame] != function) Close(/*is_unfinished=*/true);
    Close(/*is_unfinished=*/false);
  }

  void Close(bool is_unfinished) {
    Slice& slice = track_.slices[open_.back()];
    slice.end_ns = last_ns_;
    slice.is_unfinished = is_unfinished;
    --open_counts_[functions_[slice.frame]];
    open_.pop_back();
  }

  const std::vector<uint32_t>& functions_;
  std::vector<uint32_t> open_counts_;  // by function
  Track track_;
  std::vector<uint32_t> open_;
  int64_t last_ns_ = INT64_MIN;
};

}  // namespace

Track BuildSampledTrack(const Trace& trace, uint32_t thread, const std::vector<uint32_t>& functions,
                        const SliceOptions& options) {
  SampledTrackBuilder builder(trace, thread, functions);
  for (const Span& span : FindSpans(trace, trace.threads[thread], functions, options)) builder.Add(span);
  return builder.Take();
}

std::vector<Track> BuildTracks(const Trace& trace, const SliceOptions& options) {
  const std::vector<uint32_t> functions = FunctionNumbers(trace);
  std::vector<Track> tracks;
  for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
    Track sampled = BuildSampledTrack(trace, thread, functions, options);
    if (!sampled.slices.empty()) tracks.push_back(std::move(sampled));
    Track instrumented = BuildInstrumentedTrack(trace, thread, functions);
    if (!instrumented.slices.empty() || instrumented.orphan_end_count != 0)
      tracks.push_back(std::move(instrumented));
  }
  return tracks;
}

Track BuildInstrumentedTrack(const Trace& trace, uint32_t thread, const std::vector<uint32_t>& functions) {
  CallTrackBuilder builder(thread, functions);
  for (const CallEvent& event : trace.threads[thread].calls) builder.Add(event);
  return builder.Finish(trace.end_ns);
}

}  // namespace lagwatch::trace
