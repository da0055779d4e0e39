// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/syscall.h>

#include "watchdog/evidence/evidence.h"
#include "watchdog/evidence/idle_places.h"

namespace lagwatch::watchdog {

WaitKind KindOfWait(const stack::BlockedThread& blocked) {
  if (WaitsForEvent(blocked)) return WaitKind::kEvent;
  switch (blocked.syscall_number) {
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_rt_sigtimedwait:
    case SYS_semtimedop:
    case SYS_mq_timedreceive:
    case SYS_recvmmsg:
    case SYS_restart_syscall:  // of a wait that nothing names; each that goes on so has a time
#ifdef SYS_poll
    case SYS_poll:
#endif
#ifdef SYS_select
    case SYS_select:
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_ppoll:
    case SYS_pselect6:
      return WaitKind::kTime;
    case SYS_futex: {
      const uint64_t command = blocked.arguments[1] & FUTEX_CMD_MASK;
      const bool is_timed = blocked.arguments[3] != 0;
      return is_timed && (command == FUTEX_WAIT_BITSET || command == FUTEX_WAIT) ? WaitKind::kTime
                                                                                 : WaitKind::kOther;
    }
    default:
      return WaitKind::kOther;
  }
}

bool IsForOrders(const stack::BlockedThread& blocked) {
  switch (blocked.syscall_number) {
#ifdef SYS_pause
    case SYS_pause:
#endif
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
    case SYS_accept:
    case SYS_accept4:
    case SYS_msgrcv:
    case SYS_mq_timedreceive:
      return true;
    default:
      return false;
  }
}

bool IsForAnother(const WatchedLoop& loop, const stack::BlockedThread& blocked) {
  switch (blocked.syscall_number) {
    case SYS_wait4:
    case SYS_waitid:
      return true;
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_connect: {
      const int32_t polled = loop.polled_descriptor.load();
      return polled >= 0 && static_cast<int32_t>(blocked.arguments[0]) != polled;
    }
    default:
      return false;
  }
}

bool IsForPolled(const WatchedLoop& loop, const stack::BlockedThread& blocked) {
  switch (blocked.syscall_number) {
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
      return static_cast<int32_t>(blocked.arguments[0]) == loop.polled_descriptor.load();
    default:
      return false;
  }
}

}  // namespace lagwatch::watchdog
