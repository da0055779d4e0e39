// SPDX-License-Identifier: Apache-2.0
// The functions of a trace, with their times. Context: background.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/spans.h"
#include "trace/model/trace.h"
#include "trace/model/weights.h"

namespace lagwatch::trace {

struct FunctionTime {
  uint32_t frame = 0;     // index into Trace::frames, one of the function's
  int64_t self_ns = 0;    // it was the innermost one
  int64_t total_ns = 0;   // it was anywhere on the stack, once however often it stood there
  int64_t waited_ns = 0;  // of total_ns, without a processor, as far as that is known
  uint64_t count = 0;     // looks or calls that saw it
};

// Of all threads together, the most self time first.
std::vector<FunctionTime> FindFunctionTimes(const Trace& trace, const SliceOptions& options = {});
// The same of `weights`, which are the trace's.
std::vector<FunctionTime> FindFunctionTimes(const Trace& trace, const StackWeights& weights);

}  // namespace lagwatch::trace
