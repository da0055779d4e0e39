// SPDX-License-Identifier: Apache-2.0
#include <mach/mach.h>

#include <cstddef>
#include <ctime>
#include <new>

#include "base/clock.h"
#include "base/process/process.h"

namespace lagwatch::base {
namespace {

int64_t ReadNs(clockid_t clock) { return static_cast<int64_t>(clock_gettime_nsec_np(clock)); }

class DarwinClock final : public Clock {
 public:
  int64_t MonoNs() const override { return ReadNs(CLOCK_UPTIME_RAW); }  // mach_absolute_time()
  int64_t BootNs() const override { return ReadNs(CLOCK_MONOTONIC_RAW); }
  int64_t WallMs() const override { return ReadNs(CLOCK_REALTIME) / kNsPerMs; }
};

}  // namespace

const Clock& SystemClock() {
  // Never destroyed: the watchdog may still run while the process ends.
  alignas(DarwinClock) static std::byte memory[sizeof(DarwinClock)];
  static const DarwinClock& clock = *new (memory) DarwinClock;
  return clock;
}

int64_t ThreadCpuNs(int tid) {
  thread_basic_info info{};
  mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
  if (thread_info(static_cast<thread_t>(tid), THREAD_BASIC_INFO, reinterpret_cast<thread_info_t>(&info),
                  &count) != KERN_SUCCESS) {
    return -1;
  }
  constexpr int64_t kNsPerUs = 1000;
  return (int64_t{info.user_time.seconds} + info.system_time.seconds) * kNsPerSecond +
         (int64_t{info.user_time.microseconds} + info.system_time.microseconds) * kNsPerUs;
}

int64_t Thread::CpuNs() const { return ThreadCpuNs(tid); }

int64_t Process::CpuNs() const { return ProcessCpuNs(); }

int64_t ProcessCpuNs() { return ReadNs(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace lagwatch::base
