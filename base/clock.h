// SPDX-License-Identifier: Apache-2.0
// The clocks, with names that distinguish them, behind an interface for tests.
//   mono_ns  CLOCK_MONOTONIC: durations; does not run while the machine sleeps
//   boot_ns  CLOCK_BOOTTIME: runs on while the machine sleeps
//   wall_ms  CLOCK_REALTIME: time of day, for people; may jump
#pragma once

#include <cstdint>

namespace lagwatch::base {

inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;
inline constexpr int64_t kMsPerDay = 86'400'000;

// Thread safety: all methods may be called from any thread. Context: watchdog.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t MonoNs() const = 0;
  virtual int64_t BootNs() const = 0;
  virtual int64_t WallMs() const = 0;
};

// The machine's own clocks; lives for ever.
const Clock& SystemClock();

// CPU time used so far by thread `tid` of the watched process (base/process/watched_process.h) or of this
// one, 0 is the caller; by the watched process; by this process. -1 when it is gone. Context: watchdog (one
// system call, three for a thread that is watched from outside).
int64_t ThreadCpuNs(int tid);
int64_t WatchedCpuNs();
int64_t ProcessCpuNs();

}  // namespace lagwatch::base
