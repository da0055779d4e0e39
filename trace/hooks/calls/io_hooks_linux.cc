// SPDX-License-Identifier: Apache-2.0
// Hooks of files, sockets, polls and sleeps: calls that may wait for the outside. Names with two
// underscores are those of programs built with _FORTIFY_SOURCE. Variadic functions take all arguments that
// they may be given. path_hooks_linux.cc and stream_hooks_linux.cc have the calls that are only counted.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "trace/hooks/io_hook.h"

namespace lagwatch::trace {

namespace {

using enum IoOperation;

constexpr IoShape kReads{.operation = kRead, .key = 0, .transfers = true};
constexpr IoShape kWrites{.operation = kWrite, .key = 0, .transfers = true};
constexpr IoShape kSyncs{.operation = kSync, .key = 0};
constexpr IoShape kOpens{.operation = kOpen, .path = 0};
constexpr IoShape kOpensAt{.operation = kOpen, .path = 1, .folder = 0};
// Those that read as well; the key is the file that is written.
constexpr IoShape kSends{.operation = kWrite, .key = 0, .transfers = true};
constexpr IoShape kCopies{.operation = kWrite, .key = 2, .transfers = true};

template <HookName kName, IoShape kShape, typename Function>
void AddFile(HookTable* table) {
  AddIo<kName, kFileHooks, CallKind::kFile, kShape, Function>(table);
}
template <HookName kName, IoShape kShape, typename Function>
void AddSocket(HookTable* table) {
  AddIo<kName, kSocketHooks, CallKind::kSocket, kShape, Function>(table);
}
// Only captured: `lagwatch attach` has hooks of its own for these.
template <HookName kName, typename Function>
void AddSend(HookTable* table) {
  AddTimed<kName, CallKind::kSocket, Function>(table, kSocketHooks);
}

}  // namespace

void AddFileHooks(HookTable* table) {
  AddFile<"read", kReads, ssize_t(int, void*, size_t)>(table);
  AddFile<"__read_chk", kReads, ssize_t(int, void*, size_t, size_t)>(table);
  AddFile<"pread", kReads, ssize_t(int, void*, size_t, off_t)>(table);
  AddFile<"pread64", kReads, ssize_t(int, void*, size_t, off_t)>(table);
  AddFile<"__pread_chk", kReads, ssize_t(int, void*, size_t, off_t, size_t)>(table);
  AddFile<"__pread64_chk", kReads, ssize_t(int, void*, size_t, off_t, size_t)>(table);
  AddFile<"readv", kReads, ssize_t(int, const iovec*, int)>(table);
  AddCounted<"preadv", kReads, ssize_t(int, const iovec*, int, off_t)>(table);
  AddCounted<"preadv64", kReads, ssize_t(int, const iovec*, int, off_t)>(table);
  AddCounted<"preadv2", kReads, ssize_t(int, const iovec*, int, off_t, int)>(table);
  AddCounted<"preadv64v2", kReads, ssize_t(int, const iovec*, int, off_t, int)>(table);
  AddFile<"write", kWrites, ssize_t(int, const void*, size_t)>(table);
  AddFile<"pwrite", kWrites, ssize_t(int, const void*, size_t, off_t)>(table);
  AddFile<"pwrite64", kWrites, ssize_t(int, const void*, size_t, off_t)>(table);
  AddFile<"writev", kWrites, ssize_t(int, const iovec*, int)>(table);
  AddCounted<"pwritev", kWrites, ssize_t(int, const iovec*, int, off_t)>(table);
  AddCounted<"pwritev64", kWrites, ssize_t(int, const iovec*, int, off_t)>(table);
  AddCounted<"pwritev2", kWrites, ssize_t(int, const iovec*, int, off_t, int)>(table);
  AddCounted<"pwritev64v2", kWrites, ssize_t(int, const iovec*, int, off_t, int)>(table);
  AddCounted<"sendfile", kSends, ssize_t(int, int, off_t*, size_t)>(table);
  AddCounted<"sendfile64", kSends, ssize_t(int, int, off_t*, size_t)>(table);
  AddCounted<"copy_file_range", kCopies, ssize_t(int, off_t*, int, off_t*, size_t, unsigned)>(table);
  AddFile<"open", kOpens, int(const char*, int, mode_t)>(table);
  AddFile<"open64", kOpens, int(const char*, int, mode_t)>(table);
  AddFile<"__open_2", kOpens, int(const char*, int)>(table);
  AddFile<"__open64_2", kOpens, int(const char*, int)>(table);
  AddFile<"openat", kOpensAt, int(int, const char*, int, mode_t)>(table);
  AddFile<"openat64", kOpensAt, int(int, const char*, int, mode_t)>(table);
  AddCounted<"__openat_2", kOpensAt, int(int, const char*, int)>(table);
  AddCounted<"__openat64_2", kOpensAt, int(int, const char*, int)>(table);
  AddCounted<"creat", kOpens, int(const char*, mode_t)>(table);
  AddCounted<"creat64", kOpens, int(const char*, mode_t)>(table);
  AddCounted<"close", IoShape{.operation = kClose}, int(int)>(
      table);  // its descriptor names nothing any more
  AddFile<"fsync", kSyncs, int(int)>(table);
  AddFile<"fdatasync", kSyncs, int(int)>(table);
  AddCounted<"syncfs", kSyncs, int(int)>(table);
  AddCounted<"sync_file_range", kSyncs, int(int, off_t, off_t, unsigned)>(table);
  AddCounted<"msync", IoShape{.operation = kSync}, int(void*, size_t, int)>(table);
}

void AddSocketHooks(HookTable* table) {
  AddSocket<"recv", kReads, ssize_t(int, void*, size_t, int)>(table);
  AddSocket<"__recv_chk", kReads, ssize_t(int, void*, size_t, size_t, int)>(table);
  AddSocket<"recvfrom", kReads, ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)>(table);
  AddSocket<"__recvfrom_chk", kReads, ssize_t(int, void*, size_t, size_t, int, sockaddr*, socklen_t*)>(table);
  AddSocket<"recvmsg", kReads, ssize_t(int, msghdr*, int)>(table);
  AddTimed<"recvmmsg", CallKind::kSocket, int(int, mmsghdr*, unsigned, int, timespec*)>(table, kSocketHooks);
  AddSend<"send", ssize_t(int, const void*, size_t, int)>(table);
  AddSend<"sendto", ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)>(table);
  AddSend<"sendmsg", ssize_t(int, const msghdr*, int)>(table);
  AddSend<"sendmmsg", int(int, mmsghdr*, unsigned, int)>(table);
  AddSocket<"connect", IoShape{.operation = kOpen, .key = 0}, int(int, const sockaddr*, socklen_t)>(table);
  AddTimed<"accept", CallKind::kSocket, int(int, sockaddr*, socklen_t*)>(table, kSocketHooks);
  AddTimed<"accept4", CallKind::kSocket, int(int, sockaddr*, socklen_t*, int)>(table, kSocketHooks);
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
