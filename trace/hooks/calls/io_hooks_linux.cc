// SPDX-License-Identifier: Apache-2.0
// Hooks of files, sockets, polls and sleeps: calls that may wait for the outside. Names with two
// underscores are those of programs built with _FORTIFY_SOURCE. Variadic functions take all arguments that
// they may be given.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {

void AddFileHooks(HookTable* table) {
  constexpr CallKind kFile = CallKind::kFile;
  AddTimed<"read", kFile, ssize_t(int, void*, size_t)>(table, kFileHooks);
  AddTimed<"__read_chk", kFile, ssize_t(int, void*, size_t, size_t)>(table, kFileHooks);
  AddTimed<"write", kFile, ssize_t(int, const void*, size_t)>(table, kFileHooks);
  AddTimed<"pread", kFile, ssize_t(int, void*, size_t, off_t)>(table, kFileHooks);
  AddTimed<"pread64", kFile, ssize_t(int, void*, size_t, off_t)>(table, kFileHooks);
  AddTimed<"__pread_chk", kFile, ssize_t(int, void*, size_t, off_t, size_t)>(table, kFileHooks);
  AddTimed<"__pread64_chk", kFile, ssize_t(int, void*, size_t, off_t, size_t)>(table, kFileHooks);
  AddTimed<"pwrite", kFile, ssize_t(int, const void*, size_t, off_t)>(table, kFileHooks);
  AddTimed<"pwrite64", kFile, ssize_t(int, const void*, size_t, off_t)>(table, kFileHooks);
  AddTimed<"readv", kFile, ssize_t(int, const iovec*, int)>(table, kFileHooks);
  AddTimed<"writev", kFile, ssize_t(int, const iovec*, int)>(table, kFileHooks);
  AddTimed<"open", kFile, int(const char*, int, mode_t)>(table, kFileHooks);
  AddTimed<"open64", kFile, int(const char*, int, mode_t)>(table, kFileHooks);
  AddTimed<"__open_2", kFile, int(const char*, int)>(table, kFileHooks);
  AddTimed<"__open64_2", kFile, int(const char*, int)>(table, kFileHooks);
  AddTimed<"openat", kFile, int(int, const char*, int, mode_t)>(table, kFileHooks);
  AddTimed<"openat64", kFile, int(int, const char*, int, mode_t)>(table, kFileHooks);
  AddTimed<"fsync", kFile, int(int)>(table, kFileHooks);
  AddTimed<"fdatasync", kFile, int(int)>(table, kFileHooks);
}

void AddSocketHooks(HookTable* table) {
  constexpr CallKind kSocket = CallKind::kSocket;
  AddTimed<"recv", kSocket, ssize_t(int, void*, size_t, int)>(table, kSocketHooks);
  AddTimed<"__recv_chk", kSocket, ssize_t(int, void*, size_t, size_t, int)>(table, kSocketHooks);
  AddTimed<"recvfrom", kSocket, ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)>(table, kSocketHooks);
  AddTimed<"__recvfrom_chk", kSocket, ssize_t(int, void*, size_t, size_t, int, sockaddr*, socklen_t*)>(
      table, kSocketHooks);
  AddTimed<"recvmsg", kSocket, ssize_t(int, msghdr*, int)>(table, kSocketHooks);
  AddTimed<"recvmmsg", kSocket, int(int, mmsghdr*, unsigned, int, timespec*)>(table, kSocketHooks);
  AddTimed<"send", kSocket, ssize_t(int, const void*, size_t, int)>(table, kSocketHooks);
  AddTimed<"sendto", kSocket, ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)>(
      table, kSocketHooks);
  AddTimed<"sendmsg", kSocket, ssize_t(int, const msghdr*, int)>(table, kSocketHooks);
  AddTimed<"sendmmsg", kSocket, int(int, mmsghdr*, unsigned, int)>(table, kSocketHooks);
  AddTimed<"connect", kSocket, int(int, const sockaddr*, socklen_t)>(table, kSocketHooks);
  AddTimed<"accept", kSocket, int(int, sockaddr*, socklen_t*)>(table, kSocketHooks);
  AddTimed<"accept4", kSocket, int(int, sockaddr*, socklen_t*, int)>(table, kSocketHooks);
}

void AddWaitHooks(HookTable* table) {
  AddPoll<"poll", int(pollfd*, nfds_t, int)>(table);
  AddPoll<"__poll_chk", int(pollfd*, nfds_t, int, size_t)>(table);
  AddPoll<"ppoll", int(pollfd*, nfds_t, const timespec*, const sigset_t*)>(table);
  AddPoll<"__ppoll_chk", int(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t)>(table);
  AddPoll<"select", int(int, fd_set*, fd_set*, fd_set*, timeval*)>(table);
  AddPoll<"pselect", int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>(table);
  AddPoll<"epoll_wait", int(int, epoll_event*, int, int)>(table);
  AddPoll<"epoll_pwait", int(int, epoll_event*, int, int, const sigset_t*)>(table);
  AddPoll<"epoll_pwait2", int(int, epoll_event*, int, const timespec*, const sigset_t*)>(table);
  constexpr CallKind kSleep = CallKind::kSleep;
  AddTimed<"nanosleep", kSleep, int(const timespec*, timespec*)>(table, kSleepHooks);
  AddTimed<"clock_nanosleep", kSleep, int(clockid_t, int, const timespec*, timespec*)>(table, kSleepHooks);
  AddTimed<"usleep", kSleep, int(useconds_t)>(table, kSleepHooks);
  AddTimed<"sleep", kSleep, unsigned(unsigned)>(table, kSleepHooks);
}

void AddClockHooks(HookTable* table) {
  constexpr CallKind kClock = CallKind::kClock;
  AddOften<"clock_gettime", kClock, int(clockid_t, timespec*)>(table, kClockHooks);
  AddOften<"gettimeofday", kClock, int(timeval*, void*)>(table, kClockHooks);
  AddOften<"time", kClock, time_t(time_t*)>(table, kClockHooks);
}

}  // namespace lagwatch::trace
