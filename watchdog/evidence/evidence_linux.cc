// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

#include "base/process/proc_file.h"
#include "watchdog/evidence/evidence.h"
#include "watchdog/evidence/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

using policies::Doing;

// The open of a pipe with a name waits for its other end.
bool IsOpeningPipe(int32_t tid) {
  char channel[64];
  stack::ReadWaitChannel(tid, channel, sizeof channel);
  const std::string_view name(channel);
  return name.find("fifo") != std::string_view::npos ||
         name.find("wait_for_partner") != std::string_view::npos;
}

bool IsFileLock(uint64_t command) { return command == F_SETLKW || command == F_OFD_SETLKW; }

}  // namespace

Doing WhatItWaitsFor(int32_t tid, const stack::BlockedThread& blocked, char state) {
  const uint64_t* arguments = blocked.arguments;
  if (const auto awaited = WhatSetAwaits(tid, blocked)) return *awaited;
  switch (blocked.syscall_number) {
    case -1:
      return Doing::kMemory;

    case SYS_futex:
#ifdef SYS_futex_waitv
    case SYS_futex_waitv:
#endif
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_flock:
      return Doing::kLock;
    case SYS_fcntl:
      return IsFileLock(arguments[1]) ? Doing::kLock : Doing::kDisk;

    case SYS_nanosleep:
    case SYS_clock_nanosleep:
#ifdef SYS_pause
    case SYS_pause:
#endif
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
      return Doing::kSleep;

    case SYS_accept:
    case SYS_accept4:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend:
      return Doing::kNetwork;
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_sendfile:
    case SYS_ioctl:
      return WhatDescriptorAwaits(tid, static_cast<int>(arguments[0]), state);

    case SYS_mmap:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_mprotect:
    case SYS_madvise:
    case SYS_brk:
    case SYS_mlock:
    case SYS_munlock:
    case SYS_mlockall:
      return Doing::kMemory;

    // The last three: for a child to go on with another program.
    case SYS_wait4:
    case SYS_waitid:
    case SYS_clone:
#ifdef SYS_clone3
    case SYS_clone3:
#endif
#ifdef SYS_vfork
    case SYS_vfork:
#endif
      return Doing::kProcess;

    case SYS_restart_syscall:  // one of several calls goes on
      return Doing::kUnknown;

    case SYS_openat:
#ifdef SYS_open
    case SYS_open:
#endif
      return IsOpeningPipe(tid) ? Doing::kPipe : Doing::kDisk;

    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync:
    case SYS_syncfs:
    case SYS_sync_file_range:
    case SYS_msync:
    case SYS_io_getevents:
#ifdef SYS_io_uring_enter
    case SYS_io_uring_enter:
#endif
    case SYS_pread64:
    case SYS_preadv:
    case SYS_pwrite64:
    case SYS_pwritev:
#ifdef SYS_open
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
    case SYS_unlink:
    case SYS_rename:
    case SYS_mkdir:
    case SYS_rmdir:
    case SYS_readlink:
#endif
    case SYS_close:
    case SYS_fstat:
#ifdef SYS_newfstatat
    case SYS_newfstatat:
#endif
    case SYS_statx:
    case SYS_statfs:
    case SYS_faccessat:
    case SYS_getdents64:
    case SYS_lseek:
    case SYS_fallocate:
    case SYS_ftruncate:
    case SYS_truncate:
    case SYS_unlinkat:
    case SYS_renameat2:
    case SYS_mkdirat:
    case SYS_readlinkat:
    case SYS_execve:
      return Doing::kDisk;

    default:
      return state == 'D' ? Doing::kDisk : Doing::kUnknown;
  }
}

bool WaitsForEvent(const stack::BlockedThread& blocked) {
  const uint64_t* arguments = blocked.arguments;
  switch (blocked.syscall_number) {
#ifdef SYS_pause
    case SYS_pause:
#endif
    case SYS_rt_sigsuspend:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_accept:
    case SYS_accept4:
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_msgrcv:
    case SYS_semop:
      return true;
    case SYS_rt_sigtimedwait:
      return arguments[2] == 0;
    case SYS_mq_timedreceive:
    case SYS_recvmmsg:
      return arguments[4] == 0;
#ifdef SYS_poll
    case SYS_poll:
      return static_cast<int32_t>(arguments[2]) < 0;
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
      return static_cast<int32_t>(arguments[3]) < 0;
    case SYS_ppoll:
      return arguments[2] == 0;
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
      return arguments[4] == 0;
    case SYS_futex:
      // Conditions, semaphores and thread ends. Mutexes wait by FUTEX_WAIT.
      return (arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && arguments[3] == 0;
    default:
      return false;
  }
}

}  // namespace lagwatch::watchdog
