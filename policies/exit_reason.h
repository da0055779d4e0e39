// SPDX-License-Identifier: Apache-2.0
// Classifies how a run of the program ended, at its next start, and whether that start is a warm one, from
// the evidence that the run left. Context: any; pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace lagwatch::policies {

// Persisted in run ends, and part of the C ABI: do not renumber.
enum class ExitReason : int32_t {
#define EXIT_REASON(number, enumerator, ...) enumerator = number,
#include "policies/report_enums.def"
};
inline constexpr int32_t kLastExitReason = 0
#define EXIT_REASON(...) +1
#include "policies/report_enums.def"
                                           - 1;

// "clean-exit", "killed-in-hang" …, as in the JSON that people and programs read.
const char* ExitReasonName(ExitReason reason);
// The name of a reason that may have been stored under its old one: "killed-in-lag", "crash-in-lag".
// Both stores keep what an older version wrote.
std::string_view CurrentExitReason(std::string_view name);

// The evidence of a run that is over.
struct ExitEvidence {
  bool has_ended_cleanly = false;
  // The process lives on as another program: it called exec().
  bool has_replaced_itself = false;
  int32_t crash_signal = 0;  // noted by the program; 0: none
  bool was_asked_to_stop = false;
  bool was_in_hang = false;
  // A loop was frozen when the program noted its crash, or froze only then. Both false if unknown.
  bool was_in_hang_at_crash = false;
  bool has_hung_since_crash = false;
  // The machine was restarted since.
  bool has_rebooted = false;
  // The same program is there now with another build id or version.
  bool has_changed = false;
  // Processes killed for memory since the run was last seen, in its control group and on the whole machine;
  // -1: not known.
  int64_t oom_kills_in_group = -1;
  int64_t oom_kills_on_machine = -1;
};

// Returns the first that applies, from certain to probable:
//   1. crash      noted by the program; its handler may have called exit() after that. In a hang, or
//                 with a hang after it, it has reasons of its own
//   2. clean exit noted, too
//   3. stopped    was asked to end outside a hang: a later event, such as a reboot, explains the end no
//   better
//   4. reboot     ended every process, frozen or not
//   5. OOM kill   in its own control group
//   6. killed in a hang   which includes a frozen program that was asked to end and could not
//   7. OOM kill   somewhere on the machine, if the group's own count is not known: weaker
//   8. update     weakest: the program may have been gone long before it was replaced
//   9. unknown
// A hang stays a fact beside all of them.
ExitReason ClassifyExit(const ExitEvidence& evidence);

// The evidence of the same program's last run, at its next start.
struct LastRunTraces {
  bool is_same_boot = false;
  bool is_same_build = false;      // by build id; false when it has none
  int64_t since_last_seen_ms = 0;  // may be negative: the wall clock can jump
};

// Warm when the files that the start reads are most likely still in memory: the same build ran since the
// machine was started, and was last seen no more than ten minutes ago.
inline bool IsWarmStart(const LastRunTraces& last_run) {
  constexpr int64_t kWarmForMs = 10 * 60 * 1000;
  return last_run.is_same_boot && last_run.is_same_build && last_run.since_last_seen_ms >= 0 &&
         last_run.since_last_seen_ms <= kWarmForMs;
}

}  // namespace lagwatch::policies
