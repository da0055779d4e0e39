// SPDX-License-Identifier: Apache-2.0
// Nanoscope's text (https://github.com/uber/nanoscope): "nanoseconds:+name" where a call begins and
// "nanoseconds:POP" where the innermost one ends, of one thread. Context: background.
#pragma once

#include <string>

#include "base/status.h"
#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

// Of the main thread, else of the first of which something is known; its instrumented calls where it has
// some. kInvalid when there is no slice at all.
base::Result<std::string> NanoscopeText(const Trace& trace, const SliceOptions& options = {});

}  // namespace lagwatch::trace
