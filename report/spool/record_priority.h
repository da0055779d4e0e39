// SPDX-License-Identifier: Apache-2.0
// The priority of a report, by its kind. Context: any; pure.
#pragma once

#include "policies/hang.h"
#include "policies/upload/report_priority.h"

namespace lagwatch::report {

constexpr policies::ReportPriority PriorityOf(policies::HangKind kind, policies::HangLevel level) {
  using policies::HangKind;
  using policies::HangLevel;
  using policies::ReportPriority;
  if (kind == HangKind::kKilledInHang) return ReportPriority::kKilledInHang;
  if (policies::IsHang(kind)) return level == HangLevel::kAnr ? ReportPriority::kAnr : ReportPriority::kHang;
  if (kind == HangKind::kCpu || kind == HangKind::kCpuAverage) return ReportPriority::kCpu;
  if (kind == HangKind::kSlow) return ReportPriority::kSlowDispatch;
  return ReportPriority::kSlow;
}

}  // namespace lagwatch::report
