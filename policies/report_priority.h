// SPDX-License-Identifier: Apache-2.0
// What matters more when not all can be kept or sent. Context: any; pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::policies {

// From what matters least. The numbers from 0 on are written down: lagwatch.proto's Sealed.
enum class ReportPriority : int8_t {
  kTrace = -1,  // no report: all of these matter more
  kSlow = 0,
  kCpu = 1,
  kLag = 2,
  kAnr = 3,
  kKilledInHang = 4,
};
inline constexpr size_t kReportPriorities = 5;  // of reports

}  // namespace lagwatch::policies
