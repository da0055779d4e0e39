// SPDX-License-Identifier: Apache-2.0
// The priority of reports if not all can be kept or sent. Context: any; pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::policies {

// Ascending in importance. The numbers from 0 on are persisted: lagwatch.proto's Sealed.
enum class ReportPriority : int8_t {
  kTrace = -2,         // no report: all of these matter more
  kSlowDispatch = -1,  // a report of Kind::kSlow, which has a quota of its own; written down as 5
  kSlow = 0,
  kCpu = 1,
  kHang = 2,
  kAnr = 3,
  kKilledInHang = 4,
};
inline constexpr size_t kReportPriorities = 5;  // of reports, from 0 on
inline constexpr uint32_t kWrittenSlowDispatch = 5;

}  // namespace lagwatch::policies
