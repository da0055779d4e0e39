// SPDX-License-Identifier: Apache-2.0
// Threads by thread_info(). Where a thread sleeps in the kernel, and for which lock, is not known here.
#include <mach/mach.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "stack/threads/lock_owner.h"
#include "stack/threads/thread_counters.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {
namespace {

bool ReadBasicInfo(int tid, thread_basic_info* info) {
  mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
  return thread_info(static_cast<thread_t>(tid), THREAD_BASIC_INFO, reinterpret_cast<thread_info_t>(info),
                     &count) == KERN_SUCCESS;
}

int64_t ToNs(time_value_t time) {
  constexpr int64_t kNsPerUs = 1000;
  return time.seconds * base::kNsPerSecond + time.microseconds * kNsPerUs;
}

}  // namespace

ThreadActivity ReadThreadActivity(const base::Thread& thread, BlockedThread*) {
  switch (ReadThreadStateLetter(thread)) {
    case '?':
      return ThreadActivity::kGone;
    case 'R':
      return ThreadActivity::kRunning;
    default:
      return ThreadActivity::kHidden;
  }
}

ThreadActivity ReadThreadActivity(const base::Thread& thread, int, BlockedThread* blocked) {
  return ReadThreadActivity(thread, blocked);
}

ThreadActivity ReadThreadActivity(const base::Thread& thread, const ThreadFiles*, BlockedThread* blocked) {
  return ReadThreadActivity(thread, blocked);
}

bool BlockedThread::RestartsAfterSignal() const { return false; }

bool RestartsHiddenAfterSignal(const base::Thread&) { return false; }

bool IsSignalBlocked(const base::Thread&, int) { return true; }

char ReadThreadStateLetter(const base::Thread& thread) {
  thread_basic_info info{};
  if (!ReadBasicInfo(thread.tid, &info)) return '?';
  switch (info.run_state) {
    case TH_STATE_RUNNING:
      return 'R';
    case TH_STATE_UNINTERRUPTIBLE:
      return 'D';
    case TH_STATE_STOPPED:
    case TH_STATE_HALTED:
      return 'T';
    default:
      return 'S';
  }
}

void ReadWaitChannel(const base::Thread&, char* channel, uint64_t size_bytes) {
  if (size_bytes != 0) channel[0] = '\0';
}

std::string_view FunctionOfChannel(std::string_view channel) { return channel; }

int ReadTracer(const base::Process&) {
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
  kinfo_proc process{};
  size_t size_bytes = sizeof process;
  const bool is_known = sysctl(name, std::size(name), &process, &size_bytes, nullptr, 0) == 0;
  return is_known && (process.kp_proc.p_flag & P_TRACED) != 0 ? process.kp_eproc.e_ppid : 0;
}

void ReadThreadName(const base::Thread& thread, char* name, uint64_t size_bytes) {
  if (size_bytes == 0) return;
  thread_extended_info info{};
  mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
  const bool is_known = thread_info(static_cast<thread_t>(thread.tid), THREAD_EXTENDED_INFO,
                                    reinterpret_cast<thread_info_t>(&info), &count) == KERN_SUCCESS;
  const size_t size =
      is_known ? std::min<size_t>(strnlen(info.pth_name, sizeof info.pth_name), size_bytes - 1) : 0;
  std::memcpy(name, info.pth_name, size);
  name[size] = '\0';
}

bool ReadThreadStat(const base::Thread& thread, ThreadStat* stat, const ThreadFiles*) {
  thread_basic_info info{};
  if (!ReadBasicInfo(thread.tid, &info)) return false;
  *stat = {};
  stat->state = ReadThreadStateLetter(thread);
  stat->user_ns = ToNs(info.user_time);
  stat->kernel_ns = ToNs(info.system_time);
  return true;
}

bool ReadSchedulerCounters(const base::Thread&, SchedulerCounters*, const ThreadFiles*) { return false; }

int64_t ReadRunQueueNs(const base::Thread&, const ThreadFiles*) { return -1; }

ThrottleCounters ReadThrottleCounters(const base::Thread&) { return {}; }

bool ThreadFiles::Keep(const base::Thread&) { return false; }

void ThreadFiles::KeepAll(const base::Thread&) {}

void ThreadFiles::ReleaseOthers(int) {}

void ThreadFiles::Release(int) {}

int ThreadFiles::DescriptorOf(int, ThreadFile) const { return -1; }

LockOwners::LockOwners() = default;

int LockOwners::MeasureLayouts() { return 0; }

bool LockOwners::IsInLockCall(const BlockedThread&) { return false; }

std::optional<LockWait> LockOwners::Find(const BlockedThread&, const Stack&, const ModuleMap&) const {
  return std::nullopt;
}

}  // namespace lagwatch::stack
