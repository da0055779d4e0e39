// SPDX-License-Identifier: Apache-2.0
// Why a lag took so long: how the watched thread spent the time, and the one word that sums it up.
// Context: watchdog; pure.
#pragma once

#include <cstdint>

namespace lagwatch::policies {

// Persisted in reports: do not renumber.
enum class VerdictWord : int32_t {
  kUnknown = 0,
  kCpu = 1,        // it computed
  kLock = 2,       // it waited for a lock
  kDeadlock = 3,   // … that is never left
  kDisk = 4,       // it waited for a file or a device
  kMemory = 5,     // it waited for its own memory: page faults, reclaim
  kNetwork = 6,    // it waited for a socket or a pipe
  kSleep = 7,      // it slept by its own will
  kStarved = 8,    // it was ready to run, and got no processor
  kThrottled = 9,  // … because its control group's quota was used up
  kStopped = 10,   // it was stopped: a signal, a debugger, a frozen control group
};

// "cpu", "lock" …, as in the JSON that people and programs read.
constexpr const char* VerdictName(VerdictWord word) {
  switch (word) {
    case VerdictWord::kCpu:
      return "cpu";
    case VerdictWord::kLock:
      return "lock";
    case VerdictWord::kDeadlock:
      return "deadlock";
    case VerdictWord::kDisk:
      return "disk";
    case VerdictWord::kMemory:
      return "memory";
    case VerdictWord::kNetwork:
      return "network";
    case VerdictWord::kSleep:
      return "sleep";
    case VerdictWord::kStarved:
      return "starved";
    case VerdictWord::kThrottled:
      return "throttled";
    case VerdictWord::kStopped:
      return "stopped";
    case VerdictWord::kUnknown:
      break;
  }
  return "unknown";
}

// How a thread spent `wall_ns`. The parts do not overlap; what is not accounted for is not known.
struct TimeShares {
  int64_t wall_ns = 0;
  int64_t user_ns = 0;       // on a processor, in the program
  int64_t kernel_ns = 0;     // on a processor, in the kernel
  int64_t run_queue_ns = 0;  // ready, without a processor
  int64_t throttled_ns = 0;  // the same, because of a quota
  int64_t lock_ns = 0;
  int64_t disk_ns = 0;
  int64_t memory_ns = 0;
  int64_t network_ns = 0;
  int64_t sleep_ns = 0;
  int64_t stopped_ns = 0;

  bool operator==(const TimeShares&) const = default;
};

// What a thread used in some time.
struct ThreadUse {
  int64_t cpu_ns = 0;
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;

  bool operator==(const ThreadUse&) const = default;
};

struct Verdict {
  VerdictWord word = VerdictWord::kUnknown;
  TimeShares shares;
  ThreadUse use;

  bool operator==(const Verdict&) const = default;
};

}  // namespace lagwatch::policies
