// SPDX-License-Identifier: Apache-2.0
// Limits the size of an untrusted trace. Stacks and texts are stored once and referred to often, so a small
// hostile trace could otherwise expand to gigabytes, here or once it is exported. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "report/format/trace_record.h"
#include "trace/model/trace.h"

namespace lagwatch::collector {

inline constexpr size_t kMaxTraceElements = 500'000;    // of all its lists together
inline constexpr size_t kMaxTraceTextBytes = 16 << 20;  // of all that has a name
inline constexpr size_t kMaxTraceDepth = 1024;          // of a stack, and of calls within calls
inline constexpr size_t kMaxTraceShownFrames =
    4'000'000;  // of all runs' stacks, and around all calls, together
inline constexpr size_t kMaxTraceShownNameBytes = 64 << 20;  // of all these

struct TraceLimits {
  size_t packed_bytes = 1 << 20;     // of one
  size_t unpacked_bytes = 16 << 20;  // likewise
  // Of each project key; 0: none are taken.
  int64_t traces_a_day = 500;
  int64_t bytes_a_day = 200 << 20;
};

// Whether it may be stored. Errors: kInvalid, kTooLarge, with the limit that it exceeds.
// Also of the result of a probe, which is no trace.
base::Status CheckTrace(const report::TraceRecord& record, const TraceLimits& limits);

// As CheckTrace has found them to be good. Errors: kInvalid, kTooLarge.
base::Result<trace::Trace> OpenTrace(std::string_view packed, size_t unpacked_bytes);

}  // namespace lagwatch::collector
