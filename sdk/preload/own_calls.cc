// SPDX-License-Identifier: Apache-2.0
// The functions that this library hooks, for its own use: no hook may call another hook. The linker (--wrap)
// turns a reference to one of these names in this library into one to __wrap_NAME; the test
// meta.preload_calls sees that none of the other hooks is called. Each is the system call itself, because the
// program or another library may define the C library's name, too. None is a cancellation point.
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "sdk/preload/raw_syscall.h"

using lagwatch::sdk::RawSyscall;

namespace {

template <typename T>
long AsWord(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

constexpr long kKernelMaskBytes = 8;

}  // namespace

#define LAGWATCH_OWN(result, name, arguments)                                                 \
  __attribute__((visibility("hidden"))) result Own_##name arguments __asm__("__wrap_" #name); \
  result Own_##name arguments

extern "C" {

// Variadic functions take integers as these do, on all processors that this library is for.
LAGWATCH_OWN(long, syscall, (long number, long a, long b, long c, long d, long e, long f)) {
  return RawSyscall(number, a, b, c, d, e, f);
}

LAGWATCH_OWN(int, prctl, (int option, long a, long b, long c, long d)) {
  return static_cast<int>(RawSyscall(SYS_prctl, option, a, b, c, d, 0));
}

LAGWATCH_OWN(int, sched_setaffinity, (pid_t tid, size_t size, const cpu_set_t* processors)) {
  return static_cast<int>(
      RawSyscall(SYS_sched_setaffinity, tid, static_cast<long>(size), AsWord(processors), 0, 0, 0));
}

LAGWATCH_OWN(int, unshare, (int flags)) {
  return static_cast<int>(RawSyscall(SYS_unshare, flags, 0, 0, 0, 0, 0));
}

LAGWATCH_OWN(int, ppoll, (pollfd * fds, nfds_t count, const timespec* timeout, const sigset_t* mask)) {
  timespec left{};  // the kernel writes what is left of it
  if (timeout != nullptr) left = *timeout;
  return static_cast<int>(RawSyscall(SYS_ppoll, AsWord(fds), static_cast<long>(count),
                                     timeout == nullptr ? 0 : AsWord(&left), AsWord(mask), kKernelMaskBytes,
                                     0));
}

LAGWATCH_OWN(ssize_t, sendto,
             (int fd, const void* bytes, size_t size, int flags, const sockaddr* address,
              socklen_t address_bytes)) {
  return RawSyscall(SYS_sendto, fd, AsWord(bytes), static_cast<long>(size), flags, AsWord(address),
                    static_cast<long>(address_bytes));
}

LAGWATCH_OWN(ssize_t, send, (int fd, const void* bytes, size_t size, int flags)) {
  return Own_sendto(fd, bytes, size, flags, nullptr, 0);
}

LAGWATCH_OWN(ssize_t, read, (int fd, void* bytes, size_t size)) {
  return RawSyscall(SYS_read, fd, AsWord(bytes), static_cast<long>(size), 0, 0, 0);
}

LAGWATCH_OWN(ssize_t, recvfrom,
             (int fd, void* bytes, size_t size, int flags, sockaddr* address, socklen_t* address_bytes)) {
  return RawSyscall(SYS_recvfrom, fd, AsWord(bytes), static_cast<long>(size), flags, AsWord(address),
                    AsWord(address_bytes));
}

LAGWATCH_OWN(ssize_t, recv, (int fd, void* bytes, size_t size, int flags)) {
  return Own_recvfrom(fd, bytes, size, flags, nullptr, nullptr);
}

LAGWATCH_OWN(int, nanosleep, (const timespec* time, timespec* left)) {
  return static_cast<int>(RawSyscall(SYS_nanosleep, AsWord(time), AsWord(left), 0, 0, 0, 0));
}

// Returns an error number.
LAGWATCH_OWN(int, clock_nanosleep, (clockid_t clock, int flags, const timespec* time, timespec* left)) {
  const int saved_errno = errno;
  const long result = RawSyscall(SYS_clock_nanosleep, clock, flags, AsWord(time), AsWord(left), 0, 0);
  const int error = result < 0 ? errno : 0;
  errno = saved_errno;
  return error;
}

LAGWATCH_OWN(int, sigtimedwait, (const sigset_t* set, siginfo_t* info, const timespec* timeout)) {
  return static_cast<int>(
      RawSyscall(SYS_rt_sigtimedwait, AsWord(set), AsWord(info), AsWord(timeout), kKernelMaskBytes, 0, 0));
}

}  // extern "C"
