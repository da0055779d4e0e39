// SPDX-License-Identifier: Apache-2.0
#include "sdk/c_listener.h"

namespace lagwatch::sdk {
namespace {

using policies::HangKind;

// Listeners receive hangs of loops only, whose kinds have the numbers of the C ABI.
static_assert(static_cast<int>(HangKind::kHang) == LW_KIND_HANG);
static_assert(static_cast<int>(HangKind::kBusyLoop) == LW_KIND_BUSY_LOOP);
static_assert(static_cast<int>(HangKind::kWaited) == LW_KIND_WAITED);
static_assert(static_cast<int>(HangKind::kIdleHandler) == LW_KIND_IDLE_HANDLER);
static_assert(static_cast<int>(HangKind::kInput) == LW_KIND_INPUT);
static_assert(static_cast<int>(HangKind::kScope) == LW_KIND_SCOPE);
static_assert(static_cast<int>(HangKind::kFrames) == LW_KIND_FRAME);
static_assert(static_cast<int>(watchdog::FilterReason::kUnchangedStack) == LW_FILTERED_UNCHANGED_STACK);
static_assert(static_cast<int>(watchdog::FilterReason::kReportLimit) == LW_FILTERED_REPORT_LIMIT);
static_assert(static_cast<int>(watchdog::FilterReason::kReportLost) == LW_FILTERED_REPORT_LOST);
static_assert(static_cast<int>(policies::HangLevel::kAnr) == LW_LEVEL_ANR);

lw_hang ToC(const watchdog::HangNotice& hang) {
  return {.struct_size_bytes = sizeof(lw_hang),
          .loop = hang.loop_name,
          .tag = hang.tag,
          .tid = hang.tid,
          .kind = static_cast<lw_kind>(hang.kind),
          .level = static_cast<lw_level>(hang.level),
          .threshold_ns = static_cast<uint64_t>(hang.threshold_ns),
          .elapsed_ns = static_cast<uint64_t>(hang.elapsed_ns)};
}

}  // namespace

void CListener::OnHangBegin(const watchdog::HangNotice& hang) {
  const lw_hang told = ToC(hang);
  if (callbacks_.hang_begin != nullptr) callbacks_.hang_begin(callbacks_.context, &told);
}

void CListener::OnHangEnd(const watchdog::HangNotice& hang) {
  const lw_hang told = ToC(hang);
  if (callbacks_.hang_end != nullptr) callbacks_.hang_end(callbacks_.context, &told);
}

void CListener::OnFiltered(const watchdog::HangNotice& hang, watchdog::FilterReason reason) {
  const lw_hang told = ToC(hang);
  if (callbacks_.hang_filtered != nullptr)
    callbacks_.hang_filtered(callbacks_.context, &told, static_cast<lw_filtered>(reason));
}

void CListener::OnSensitive(const watchdog::HangNotice& dispatch) {
  const lw_hang told = ToC(dispatch);
  callbacks_.sensitive(callbacks_.context, &told);
}

}  // namespace lagwatch::sdk
