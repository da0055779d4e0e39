// SPDX-License-Identifier: Apache-2.0
// Turns each sample of a thread into a span of time around it. Slices and weights are both made of spans, so
// that they agree. Context: background. Design: docs/design/trace_slices.md
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/trace.h"

namespace lagwatch::trace {

struct SliceOptions {
  // The longest time that a stack is assumed to continue after its last sample. 0: 1.5 sample intervals.
  int64_t extension_ns = 0;
  // Only time within counts.
  int64_t from_ns = INT64_MIN;
  int64_t until_ns = INT64_MAX;
};

// A run, in the time that it stands for. Spans of a thread do not overlap.
struct Span {
  uint32_t run = 0;           // index into Thread::runs
  uint64_t count = 0;         // looks at the thread, with those that fell into a wait
  int64_t begin_ns = 0;       // before seen_begin_ns only where a dispatch's times are known, or that it ran
  int64_t seen_begin_ns = 0;  // the run's own times; less, where runs overlapped
  int64_t seen_end_ns = 0;
  int64_t end_ns = 0;  // with the extension
  int64_t gap_ns = 0;  // the part of it beyond a sample interval
  // Its weight in totals: its time, or more, to account for dispatches that were too short to be sampled.
  int64_t weight_ns = 0;
  // This many of the outermost frames last until end_ns, the others until seen_end_ns: after a capture
  // in a hooked call nothing is known of the thread, except that the frames that the next look has in
  // common went on.
  uint32_t lasting_depth = UINT32_MAX;
  bool follows = false;       // the span before ends where this one begins, in the same dispatch
  bool has_own_leaf = false;  // the innermost frame has the time seen, or none; see HasOwnLeaf()
};

// Whether the innermost frame of `run` is a call whose times are known: of a wait exactly, of a call that
// returned at once no time at all. The others last until the next look at the thread.
bool HasOwnLeaf(const Run& run);

// Ascending. `thread` is of `trace`, `functions` FunctionNumbers(trace). Runs without a stack are holes.
std::vector<Span> FindSpans(const Trace& trace, const Thread& thread, const std::vector<uint32_t>& functions,
                            const SliceOptions& options = {});

}  // namespace lagwatch::trace
