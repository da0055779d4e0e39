// SPDX-License-Identifier: Apache-2.0
// Traces as the JSON that people's programs read: part of the API, so keys keep their meaning.
// Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/query/json/json_text.h"
#include "collector/store/records.h"
#include "trace/model/trace.h"

namespace lagwatch::collector {

// Of the stacks of a thread, the ones that took longest.
inline constexpr size_t kMaxTraceStacks = 5000;

// A trace's header, without its content.
Json TraceHeaderJson(const TraceRow& row);
// Adds its threads, its losses, and the duration of each stack of the thread `tid`, for a flame graph. The
// thread must exist.
void AddFlame(const trace::Trace& trace, int32_t tid, Json* json);

}  // namespace lagwatch::collector
