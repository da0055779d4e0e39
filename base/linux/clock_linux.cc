// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <ctime>
#include <new>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/process/process.h"

namespace lagwatch::base {
namespace {

int64_t ReadNs(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return -1;
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

class LinuxClock final : public Clock {
 public:
  int64_t MonoNs() const override { return ReadNs(CLOCK_MONOTONIC); }
  int64_t BootNs() const override { return ReadNs(CLOCK_BOOTTIME); }
  int64_t WallMs() const override { return ReadNs(CLOCK_REALTIME) / kNsPerMs; }
};

}  // namespace

const Clock& SystemClock() {
  // Never destroyed: the watchdog may still run while the process ends.
  alignas(LinuxClock) static std::byte memory[sizeof(LinuxClock)];  // the first use may meet a full memory
  static const LinuxClock& clock = *new (memory) LinuxClock;
  return clock;
}

namespace {

// The kernel has CPU clocks of another process, but not of its threads.
int64_t ForeignThreadCpuNs(const Thread& thread) {
  char buffer[128];
  std::string_view text = ReadSmallFile(TaskPath(thread, "schedstat").c_str(), buffer, sizeof buffer);
  uint64_t run_ns = 0;
  return ConsumeDecimal(&text, &run_ns) ? static_cast<int64_t>(run_ns) : -1;
}

}  // namespace

int64_t Thread::CpuNs() const {
  const int64_t cpu_ns = process.is_own() ? -1 : ForeignThreadCpuNs(*this);
  return cpu_ns >= 0 || process.is_core() ? cpu_ns : ThreadCpuNs(tid);
}

int64_t ThreadCpuNs(int tid) {
  // The kernel's encoding of a thread's CPU clock, which pthread_getcpuclockid also yields; this takes
  // a bare tid.
  constexpr clockid_t kPerThreadSchedulerClock = 6;
  return ReadNs(static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | kPerThreadSchedulerClock));
}

int64_t Process::CpuNs() const {
  if (is_own()) return ProcessCpuNs();
  if (is_core()) return -1;
  constexpr clockid_t kSchedulerClock = 2;  // of a process, as clock_getcpuclockid(3) yields it
  return ReadNs(static_cast<clockid_t>((~static_cast<unsigned>(other_pid_) << 3) | kSchedulerClock));
}

int64_t ProcessCpuNs() { return ReadNs(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace lagwatch::base
