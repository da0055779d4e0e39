// SPDX-License-Identifier: Apache-2.0
// The options of a monitor's recorder, and the events that it takes a trace of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/uuid.h"
#include "policies/options/option_table.h"

namespace lagwatch::sdk {

// A trace is wanted the next time that a hang has this cause.
struct TraceRequest {
  uint64_t cause = 0;
  int64_t interval_ns = 0;  // between two looks, as long as it is not granted
};

// The meanings of the options are in their table, policies/options/options.def.
struct TraceOptions {
  using Table = policies::OptionTable;

  bool is_on = false;         // reports come with traces
  bool reports_slow = false;  // slow dispatches are reported, from the recording
  int64_t interval_ns = Table::trace_interval_ms.standard * base::kNsPerMs;
  bool has_hooks = false;  // captures in hooked calls, too
  int64_t before_ns = Table::trace_before_s.standard * base::kNsPerSecond;
  uint64_t buffer_bytes = Table::trace_buffer_kib.standard << 10;
  uint64_t max_bytes = Table::trace_max_kib.standard << 10;  // packed
  int64_t slow_ns = Table::trace_slow_ms.standard * base::kNsPerMs;
  // Calls of functions built with -fpatchable-function-entry are recorded in these modules: file
  // names or patterns, separated by commas. Calls of functions that a compiler instrumented, and
  // named parts, always are.
  std::string patched_modules = {};
  std::string rules_file = {};  // of these functions; empty: the one beside the program, if it is there
  std::vector<TraceRequest> requests = {};

  bool records() const { return is_on || reports_slow; }
};

enum class TraceReason : uint8_t { kHang, kAnr, kSlow, kCpu, kFrames, kRequest, kApi, kSignal };
// As lagwatch.proto lists them.
std::string_view TraceReasonName(TraceReason reason);

// The event that a trace is of.
struct TraceEvent {
  TraceReason reason = TraceReason::kApi;
  base::Uuid report_id = {};  // zero when it belongs to no report
  base::Uuid hang_id = {};
  uint64_t cause = 0;
  int64_t begin_ns = 0;  // CLOCK_MONOTONIC
  int64_t end_ns = 0;
};

}  // namespace lagwatch::sdk
