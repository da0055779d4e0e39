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
  switch (kind) {
    case HangKind::kKilledInHang:
      return ReportPriority::kKilledInHang;
    case HangKind::kLag:
    case HangKind::kBusyLoop:
    case HangKind::kWaited:
    case HangKind::kIdleHandler:
    case HangKind::kInput:
    case HangKind::kScope:
    case HangKind::kStartupLag:
      return level == HangLevel::kAnr ? ReportPriority::kAnr : ReportPriority::kLag;
    case HangKind::kCpu:
    case HangKind::kCpuAverage:
      return ReportPriority::kCpu;
    case HangKind::kUnknown:
    case HangKind::kFrames:
    case HangKind::kStartup:
    case HangKind::kDump:
      break;
    case HangKind::kSlow:
      return ReportPriority::kSlowDispatch;
  }
  return ReportPriority::kSlow;
}

}  // namespace lagwatch::report
