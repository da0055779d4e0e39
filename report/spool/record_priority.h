// SPDX-License-Identifier: Apache-2.0
// The priority of a report, by its kind. Context: any; pure.
#pragma once

#include "policies/report_priority.h"
#include "report/format/fields.h"

namespace lagwatch::report {

constexpr policies::ReportPriority PriorityOf(Kind kind, Level level) {
  using policies::ReportPriority;
  switch (kind) {
    case Kind::kKilledInHang:
      return ReportPriority::kKilledInHang;
    case Kind::kLag:
    case Kind::kBusyLoop:
    case Kind::kWaited:
    case Kind::kIdleHandler:
    case Kind::kInput:
    case Kind::kScope:
    case Kind::kStartupLag:
      return level == Level::kAnr ? ReportPriority::kAnr : ReportPriority::kLag;
    case Kind::kCpu:
    case Kind::kCpuAverage:
      return ReportPriority::kCpu;
    case Kind::kUnknown:
    case Kind::kFrames:
    case Kind::kStartup:
    case Kind::kDump:
      break;
    case Kind::kSlow:
      return ReportPriority::kSlowDispatch;
  }
  return ReportPriority::kSlow;
}

}  // namespace lagwatch::report
