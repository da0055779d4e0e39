// SPDX-License-Identifier: Apache-2.0
// Functions of the program with names of the C library's. They do what those do, and end the process when a
// call comes from elsewhere than the program's own code.
#include <stddef.h>
#include <sys/syscall.h>

// POSIX's headers would declare the names.
long syscall(long number, ...);
int snprintf(char* text, size_t size, const char* format, ...);
extern char __executable_start;
extern char etext;

static void CheckCaller(const char* name, const void* caller) {
  char text[64];
  if ((const char*)caller >= &__executable_start && (const char*)caller < &etext) return;
  const int size = snprintf(text, sizeof text, "stray call of %s\n", name);
  syscall(SYS_write, 1, text, (long)size);
  syscall(SYS_exit_group, 70);
}

#define OWN(name, number)                                     \
  long name(long a, long b, long c, long d, long e, long f);  \
  long name(long a, long b, long c, long d, long e, long f) { \
    CheckCaller(#name, __builtin_return_address(0));          \
    return syscall(number, a, b, c, d, e, f);                 \
  }
OWN(clock_getres, SYS_clock_getres)
OWN(close, SYS_close)
OWN(connect, SYS_connect)
OWN(dup, SYS_dup)
OWN(dup3, SYS_dup3)
OWN(fcntl, SYS_fcntl)
OWN(flock, SYS_flock)
OWN(fstat, SYS_fstat)
OWN(ftruncate, SYS_ftruncate)
OWN(getpid, SYS_getpid)
OWN(getrlimit, SYS_getrlimit)
OWN(gettid, SYS_gettid)
OWN(kill, SYS_kill)
OWN(madvise, SYS_madvise)
OWN(mprotect, SYS_mprotect)
OWN(openat, SYS_openat)
OWN(pread, SYS_pread64)
OWN(pwrite, SYS_pwrite64)
OWN(sched_yield, SYS_sched_yield)
OWN(setrlimit, SYS_setrlimit)
OWN(socket, SYS_socket)
OWN(sysinfo, SYS_sysinfo)
OWN(uname, SYS_uname)
OWN(write, SYS_write)
OWN(writev, SYS_writev)
#ifdef SYS_open  // not on arm64
OWN(access, SYS_access)
OWN(mkdir, SYS_mkdir)
OWN(open, SYS_open)
OWN(readlink, SYS_readlink)
OWN(stat, SYS_stat)
OWN(unlink, SYS_unlink)
#endif
// These return addresses.
OWN(mmap, SYS_mmap)
OWN(munmap, SYS_munmap)
