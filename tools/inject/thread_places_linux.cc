// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include "tools/inject/thread_places.h"
#include "tools/inject/traced_thread.h"

namespace lagwatch::tools {
namespace {

// Waits for events outside of the process, which code makes with no lock of the C library's held.
bool IsHarmlessWait(long number) {
  static constexpr long kHarmless[] = {
#ifdef SYS_poll
      SYS_poll,           SYS_select,          SYS_epoll_wait,
      SYS_accept,
#endif
      SYS_ppoll,          SYS_pselect6,        SYS_epoll_pwait,
      SYS_epoll_pwait2,   SYS_nanosleep,       SYS_clock_nanosleep,
      SYS_read,           SYS_recvfrom,        SYS_recvmsg,
      SYS_accept4,        SYS_wait4,           SYS_waitid,
      SYS_connect,        SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
      SYS_restart_syscall};  // of one of these, after the process was stopped and continued
  return std::ranges::find(kHarmless, number) != std::end(kHarmless);
}

}  // namespace

std::vector<pid_t> ThreadsOf(pid_t pid) {
  std::vector<pid_t> threads{pid};
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    const pid_t tid = std::atoi(entry.path().filename().c_str());
    if (tid != pid) threads.push_back(tid);
  }
  return threads;
}

std::optional<StoppedIn> PlaceOf(long number) {
  if (number == kInNoSyscall) return StoppedIn::kRunning;
#ifdef SYS_pause
  // The signal that is to end it may come while the thread is stopped, which makes the call again.
  if (number == SYS_pause) return StoppedIn::kFutex;
#endif
  static constexpr long kHoldNoLock[] = {SYS_futex,        SYS_clock_gettime, SYS_getrusage, SYS_times,
                                         SYS_gettimeofday, SYS_sched_yield,   SYS_write,     SYS_writev,
                                         SYS_lseek,        SYS_sendto,        SYS_sendmsg,   SYS_getpid};
  if (std::ranges::find(kHoldNoLock, number) != std::end(kHoldNoLock)) return StoppedIn::kFutex;
  if (IsHarmlessWait(number)) return StoppedIn::kWait;
  return std::nullopt;
}

}  // namespace lagwatch::tools
