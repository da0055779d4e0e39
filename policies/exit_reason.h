// SPDX-License-Identifier: Apache-2.0
// How a run of the program ended, told at its next start from what the run left behind.
// Context: any; pure.
#pragma once

#include <cstdint>

namespace lagwatch::policies {

// Persisted in run ends, and part of the C ABI: do not renumber.
enum class ExitReason : int32_t {
  kUnknown = 0,      // it vanished, and nothing tells why
  kCleanExit = 1,    // the monitor was stopped, or the program ended by exit()
  kKilledInLag = 2,  // it vanished while a loop was frozen
  kOomKill = 3,      // the kernel ran out of memory and killed it
  kUpdate = 4,       // another version of the program was started after it
  kReboot = 5,       // the machine was started anew
  kCrash = 6,        // the program told of the signal that ended it
  kStopped = 7,      // the program told that somebody asked it to end
  kCrashInLag = 8,   // as kCrash, and a loop was frozen when the signal came
  kHangInCrash =
      9,  // as kCrash, and then a loop froze: its handler, or what it waits for, did not come to an end
};
inline constexpr int32_t kLastExitReason = 9;

// "clean-exit", "killed-in-lag" …, as in the JSON that people and programs read.
const char* ExitReasonName(ExitReason reason);

// What is known of a run that is over.
struct ExitEvidence {
  bool has_ended_cleanly = false;
  // The process lives on as another program: it called exec().
  bool has_replaced_itself = false;
  int32_t crash_signal = 0;  // that the program told of; 0: none
  bool was_told_to_stop = false;
  bool was_in_lag = false;
  // A loop was frozen when the program told of its crash, or froze only then. Both false where that is not
  // known.
  bool was_in_lag_at_crash = false;
  bool has_hung_since_crash = false;
  // The machine was started anew since.
  bool has_rebooted = false;
  // The same program is there now with another build id or version.
  bool has_changed = false;
  // Processes killed for memory since the run was last seen, in its control group and on the whole machine;
  // -1: not known.
  int64_t oom_kills_in_group = -1;
  int64_t oom_kills_on_machine = -1;
};

// The first that applies, from what must be so to what may be:
//   1. crash      a fact that the program told; its handler may have called exit() after that. In a lag, or
//                 with a hang after it, it has reasons of its own
//   2. clean exit a fact, too
//   3. stopped    was told so outside a lag: what came later, a reboot say, does not explain the end better
//   4. reboot     took every process along, frozen or not
//   5. OOM kill   in its own control group
//   6. killed in a lag   which includes a frozen program that was told to stop and could not
//   7. OOM kill   somewhere on the machine, where the group's own count is not known: weaker
//   8. update     weakest: the program may have been gone long before it was replaced
//   9. unknown
// A lag stays a fact beside all of them.
ExitReason ClassifyExit(const ExitEvidence& evidence);

}  // namespace lagwatch::policies
