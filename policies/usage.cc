// SPDX-License-Identifier: Apache-2.0
#include "policies/usage.h"

namespace lagwatch::policies {

std::string_view SuppressedReasonName(SuppressedReason reason) {
  switch (reason) {
    case SuppressedReason::kUnchangedStack:
      return "unchanged-stack";
    case SuppressedReason::kReportLimit:
      return "report-limit";
    case SuppressedReason::kDebugger:
      return "debugger";
    case SuppressedReason::kStopped:
      return "stopped";
    case SuppressedReason::kSuspended:
      return "suspended";
    case SuppressedReason::kEndedFirst:
      return "ended-first";
    case SuppressedReason::kTooLarge:
      return "too-large";
    case SuppressedReason::kNotWritten:
      return "not-written";
    case SuppressedReason::kLoopRefused:
      return "loop-refused";
    case SuppressedReason::kNoteLost:
      return "note-lost";
    case SuppressedReason::kUnproven:
      return "unproven";
    case SuppressedReason::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace lagwatch::policies
