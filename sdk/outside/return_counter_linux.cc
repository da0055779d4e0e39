// SPDX-License-Identifier: Apache-2.0
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sdk/outside/return_counter.h"

namespace lagwatch::sdk {

void ReturnCounter::Arm(int32_t tid, uint64_t address) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_type = HW_BREAKPOINT_X;
  attributes.bp_addr = address;
  attributes.bp_len = sizeof(long);
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  // The first return turns the breakpoint off: a loop that is only busy pays for it once.
  attributes.sample_period = 1;
  constexpr int kAnyProcessor = -1;
  constexpr int kNoGroup = -1;
  counter_ = base::OwnedFd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, tid, kAnyProcessor, kNoGroup, PERF_FLAG_FD_CLOEXEC)));
  if (counter_ && ioctl(counter_.get(), PERF_EVENT_IOC_REFRESH, 1) != 0) counter_.Close();
}

std::optional<uint64_t> ReturnCounter::Read() const {
  uint64_t count = 0;
  if (!counter_ || read(counter_.get(), &count, sizeof count) != sizeof count) return std::nullopt;
  return count;
}

}  // namespace lagwatch::sdk
