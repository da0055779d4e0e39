// SPDX-License-Identifier: Apache-2.0
#include "policies/exit_reason.h"

namespace lagwatch::policies {

const char* ExitReasonName(ExitReason reason) {
  switch (reason) {
#define EXIT_REASON(number, enumerator, name, ...) \
  case ExitReason::enumerator:                     \
    return name;
#include "policies/report_enums.def"
  }
  return "unknown";
}

std::string_view CurrentExitReason(std::string_view name) {
  if (name == "killed-in-lag") return ExitReasonName(ExitReason::kKilledInHang);
  if (name == "crash-in-lag") return ExitReasonName(ExitReason::kCrashInHang);
  return name;
}

ExitReason ClassifyExit(const ExitEvidence& evidence) {
  if (evidence.crash_signal != 0 && evidence.was_in_hang_at_crash) return ExitReason::kCrashInHang;
  if (evidence.crash_signal != 0 && evidence.has_hung_since_crash) return ExitReason::kHangInCrash;
  if (evidence.crash_signal != 0) return ExitReason::kCrash;
  if (evidence.has_ended_cleanly || evidence.has_replaced_itself) return ExitReason::kCleanExit;
  if (evidence.was_asked_to_stop && !evidence.was_in_hang) return ExitReason::kStopped;
  if (evidence.has_rebooted) return ExitReason::kReboot;
  if (evidence.oom_kills_in_group > 0) return ExitReason::kOomKill;
  if (evidence.was_in_hang) return ExitReason::kKilledInHang;
  if (evidence.oom_kills_in_group < 0 && evidence.oom_kills_on_machine > 0) return ExitReason::kOomKill;
  if (evidence.has_changed) return ExitReason::kUpdate;
  return ExitReason::kUnknown;
}

}  // namespace lagwatch::policies
