// SPDX-License-Identifier: Apache-2.0
// A trace on its way to the collector: its header, around the trace's own bytes. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/uuid.h"

namespace lagwatch::report {

// The reason of a record that has the result of a probe in place of a trace (report/probes/probe_result.h),
// and the script's key as its cause.
inline constexpr std::string_view kProbeReason = "probe";

// lagwatch.proto describes the fields.
struct TraceRecord {
  base::Uuid id = {};
  base::Uuid session_id = {};
  base::Uuid report_id = {};  // zero when it belongs to no report
  base::Uuid hang_id = {};
  std::string app = {};
  std::string app_version = {};
  std::string user = {};
  uint64_t begin_wall_ms = 0;
  uint64_t duration_ns = 0;
  std::string reason = {};
  std::string trace = {};        // see trace/format/trace_codec.h: PackTrace's
  uint32_t sample_rate_ppm = 0;  // as in Report
  uint64_t cause = 0;            // likewise

  bool operator==(const TraceRecord&) const = default;
};

std::string EncodeTraceRecord(const TraceRecord& record);
// Does not decode the trace itself. Errors: kInvalid, also without an id or a trace.
base::Result<TraceRecord> DecodeTraceRecord(std::string_view bytes);

}  // namespace lagwatch::report
