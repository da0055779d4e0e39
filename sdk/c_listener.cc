// SPDX-License-Identifier: Apache-2.0
#include "sdk/c_listener.h"

namespace lagwatch::sdk {
namespace {

lw_kind ToC(watchdog::HangKind kind) {
  switch (kind) {
    case watchdog::HangKind::kBusyLoop:
      return LW_KIND_BUSY_LOOP;
    case watchdog::HangKind::kWaited:
      return LW_KIND_WAITED;
    case watchdog::HangKind::kScope:
      return LW_KIND_SCOPE;
    case watchdog::HangKind::kIdleHandler:
      return LW_KIND_IDLE_HANDLER;
    case watchdog::HangKind::kInput:
      return LW_KIND_INPUT;
    case watchdog::HangKind::kFrame:
      return LW_KIND_FRAME;
    case watchdog::HangKind::kDump:  // not passed to listeners
    case watchdog::HangKind::kLag:
    case watchdog::HangKind::kCpu:  // listeners receive hangs of loops only
    case watchdog::HangKind::kCpuAverage:
      break;
  }
  return LW_KIND_LAG;
}

lw_filtered ToC(watchdog::FilterReason reason) {
  switch (reason) {
    case watchdog::FilterReason::kUnchangedStack:
      return LW_FILTERED_UNCHANGED_STACK;
    case watchdog::FilterReason::kReportLimit:
      return LW_FILTERED_REPORT_LIMIT;
    case watchdog::FilterReason::kReportLost:
      break;
  }
  return LW_FILTERED_REPORT_LOST;
}

lw_lag ToC(const watchdog::LagNotice& lag) {
  return {.struct_size_bytes = sizeof(lw_lag),
          .loop = lag.loop_name,
          .tag = lag.tag,
          .tid = lag.tid,
          .kind = ToC(lag.kind),
          .level = lag.level == watchdog::HangLevel::kAnr ? LW_LEVEL_ANR : LW_LEVEL_LAG,
          .threshold_ns = static_cast<uint64_t>(lag.threshold_ns),
          .elapsed_ns = static_cast<uint64_t>(lag.elapsed_ns)};
}

}  // namespace

void CListener::OnLagBegin(const watchdog::LagNotice& lag) {
  const lw_lag told = ToC(lag);
  if (callbacks_.lag_begin != nullptr) callbacks_.lag_begin(callbacks_.context, &told);
}

void CListener::OnLagEnd(const watchdog::LagNotice& lag) {
  const lw_lag told = ToC(lag);
  if (callbacks_.lag_end != nullptr) callbacks_.lag_end(callbacks_.context, &told);
}

void CListener::OnFiltered(const watchdog::LagNotice& lag, watchdog::FilterReason reason) {
  const lw_lag told = ToC(lag);
  if (callbacks_.lag_filtered != nullptr) callbacks_.lag_filtered(callbacks_.context, &told, ToC(reason));
}

void CListener::OnSensitive(const watchdog::LagNotice& dispatch) {
  const lw_lag told = ToC(dispatch);
  callbacks_.sensitive(callbacks_.context, &told);
}

}  // namespace lagwatch::sdk
