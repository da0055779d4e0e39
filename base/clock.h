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

// CPU time used so far by this process's thread `tid`, 0 is the caller, which -1 says is gone; by this
// process. Of other processes: base/process/process.h. Context: watchdog (one system call).
int64_t ThreadCpuNs(int tid);
int64_t ProcessCpuNs();

}  // namespace lagwatch::base
