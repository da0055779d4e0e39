// SPDX-License-Identifier: Apache-2.0
// What matters more when not all can be kept or sent. Context: any; pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::policies {

// From what matters least.
enum class ReportPriority : uint8_t { kSlow, kCpu, kLag, kAnr, kKilledInHang };
inline constexpr size_t kReportPriorities = 5;

}  // namespace lagwatch::policies
