// SPDX-License-Identifier: Apache-2.0
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "sdk/outside/return_counter.h"
#include "sdk/outside/return_tracepoint.h"

namespace lagwatch::sdk {
namespace {

base::OwnedFd OpenCounter(perf_event_attr* attributes, int32_t tid) {
  attributes->size = sizeof *attributes;
  constexpr int kAnyProcessor = -1;
  constexpr int kNoGroup = -1;
  return base::OwnedFd(static_cast<int>(
      syscall(SYS_perf_event_open, attributes, tid, kAnyProcessor, kNoGroup, PERF_FLAG_FD_CLOEXEC)));
}

// Of the thread; the first time that it is met turns it off: a loop that is only busy pays for it once.
base::OwnedFd SetBreakpoint(int32_t tid, uint64_t address) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_X;
  attributes.bp_addr = address;
  attributes.bp_len = sizeof(long);
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.sample_period = 1;
  base::OwnedFd counter = OpenCounter(&attributes, tid);
  if (counter && ioctl(counter.get(), PERF_EVENT_IOC_REFRESH, 1) != 0) counter.Close();
  return counter;
}

std::optional<uint64_t> CountOf(const base::OwnedFd& counter) {
  uint64_t count = 0;
  if (!counter || read(counter.get(), &count, sizeof count) != sizeof count) return std::nullopt;
  return count;
}

[[gnu::noinline]] void MeetBreakpoint() { __asm__ volatile("" ::: "memory"); }

// The count of one of this thread, which comes to it once: some virtual machines let the kernel set
// breakpoints that the processor does not know of, and one may be moved to such a host while this runs.
std::optional<uint64_t> CountOfOwn() {
  void (*volatile meet)() = &MeetBreakpoint;  // no copy of it is called
  constexpr int32_t kThisThread = 0;
  const base::OwnedFd own = SetBreakpoint(kThisThread, reinterpret_cast<uint64_t>(&MeetBreakpoint));
  meet();
  return CountOf(own);
}

// Known from the first one that was not met; any thread writes it.
std::atomic<bool> are_breakpoints_useless{false};

}  // namespace

ReturnCounter::Way ReturnCounter::WayHere() {
  const std::optional<uint64_t> own = CountOfOwn();
  if (own == 1U) return Way::kBreakpoint;
  are_breakpoints_useless.store(own == 0U);
  return ReturnTracepointOf(SYS_ppoll) ? Way::kTracepoint : Way::kNone;
}

void ReturnCounter::Arm(const Call& call) {
  Disarm();
  rests_ = 0;
  if (!are_breakpoints_useless.load()) breakpoint_ = SetBreakpoint(call.tid, call.return_address);
  is_armed_ = breakpoint_ || CountByTracepoint(call);
}

bool ReturnCounter::CountByTracepoint(const Call& call) {
  if (tracepoint_ && traced_number_ == call.number)
    return ioctl(tracepoint_.get(), PERF_EVENT_IOC_RESET, 0) == 0;
  tracepoint_.Close();
  const std::optional<uint64_t> id = ReturnTracepointOf(call.number);
  if (!id) return false;
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = *id;
  tracepoint_ = OpenCounter(&attributes, call.tid);
  traced_number_ = call.number;
  return static_cast<bool>(tracepoint_);
}

void ReturnCounter::Disarm() {
  breakpoint_.Close();
  is_armed_ = false;
}

void ReturnCounter::Rest() {
  constexpr uint32_t kLooksUntilRemoval = 10;
  if (!is_armed_ && tracepoint_ && ++rests_ == kLooksUntilRemoval) tracepoint_.Close();
}

std::optional<uint64_t> ReturnCounter::Read() {
  if (!is_armed_) return std::nullopt;
  if (!breakpoint_) return CountOf(tracepoint_);
  const std::optional<uint64_t> count = CountOf(breakpoint_);
  if (count != 0U) return count;
  const std::optional<uint64_t> own = CountOfOwn();
  if (own == 0U) are_breakpoints_useless.store(true);
  if (own == 1U) return count;
  Disarm();
  return std::nullopt;
}

}  // namespace lagwatch::sdk
