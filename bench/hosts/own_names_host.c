// SPDX-License-Identifier: Apache-2.0
// A program whose own functions have names of the C library's, for `scripts/bench hosts`: ISO C reserves none
// of these. It ends when a call that means the C library's function reaches one.
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

// POSIX's headers would declare the names.
long syscall(long number, ...);
int nanosleep(const void* time, void* left);
int epoll_create1(int flags);
int epoll_wait(int fd, void* events, int most, int timeout_ms);
void _exit(int code);

static void Stray(const char* name) {
  char text[64];
  const int size = snprintf(text, sizeof text, "stray call of %s\n", name);
  syscall(SYS_write, 1, text, (long)size);
  _exit(70);
}

#define OWN(name)              \
  int name(const void* door);  \
  int name(const void* door) { \
    Stray(#name);              \
    return door != NULL;       \
  }
OWN(access)
OWN(clock_gettime)
OWN(clock_nanosleep)
OWN(close)
OWN(connect)
OWN(dl_iterate_phdr)
OWN(dladdr)
OWN(dup)
OWN(fcntl)
OWN(flock)
OWN(fstat)
OWN(ftruncate)
OWN(getpid)
OWN(gettid)
OWN(kill)
OWN(madvise)
OWN(mkdir)
OWN(mmap)
OWN(mprotect)
OWN(munmap)
OWN(open)
OWN(openat)
OWN(pread)
OWN(pthread_create)
OWN(pthread_join)
OWN(pthread_mutex_lock)
OWN(pthread_sigmask)
OWN(pwrite)
OWN(read)
OWN(readlink)
OWN(recv)
OWN(sched_yield)
OWN(sigaction)
OWN(socket)
OWN(stat)
OWN(sysconf)
OWN(truncate)
OWN(uname)
OWN(unlink)
OWN(write)
OWN(writev)

static __attribute__((noinline)) void HangNapping(void) {
  const struct { long seconds, nanoseconds; } time = {0, 700000000};
  nanosleep(&time, NULL);
  __asm__ volatile("");  // no tail call: the function stays in the stack
}

int main(int argument_count, char** arguments) {
  if (argument_count < 2 || strcmp(arguments[1], "--list") == 0) {
    puts("own_names\tHangNapping\t");
    return 0;
  }
  char events[64];
  const int loop = epoll_create1(0);
  for (int i = 0; i < 12; ++i) epoll_wait(loop, events, 1, 10);
  HangNapping();
  for (int i = 0; i < 6; ++i) epoll_wait(loop, events, 1, 10);
  puts("done");
  return 3;
}
