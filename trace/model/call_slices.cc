// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "trace/model/slices.h"

namespace lagwatch::trace {
namespace {

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

Track BuildInstrumentedTrack(const Trace& trace, uint32_t thread, const std::vector<uint32_t>& functions) {
  CallTrackBuilder builder(thread, functions);
  for (const CallEvent& event : trace.threads[thread].calls) builder.Add(event);
  return builder.Finish(trace.end_ns);
}

}  // namespace lagwatch::trace
