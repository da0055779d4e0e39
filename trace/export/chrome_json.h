// SPDX-License-Identifier: Apache-2.0
// Trace events as JSON, which chrome://tracing, Perfetto and speedscope open
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). Times are
// microseconds. Context: background.
#pragma once

#include <string>

#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

// Complete events, which nest strictly, counters, flows and losses. Beside its instrumented calls a thread's
// samples are shown as a thread of their own, whose number no real one can have.
std::string ChromeJson(const Trace& trace, const SliceOptions& options = {});

}  // namespace lagwatch::trace
