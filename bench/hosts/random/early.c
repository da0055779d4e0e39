// SPDX-License-Identifier: Apache-2.0
// The work of a program or one of its libraries before main and before other libraries' constructors; also
// built as a library (-DIN_LIBRARY). The seed is the program's first argument.
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint32_t state;
static uint32_t Draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 16) % below;
}

static int SetStack(void) {
  static char memory[65536];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory, .ss_flags = 0};
  stack_t old = {0};
  return sigaltstack(&stack, NULL) + sigaltstack(NULL, &old) + (old.ss_size == sizeof memory);
}
static int Fork(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    struct timeval time = {0, 1000};
    select(0, NULL, NULL, NULL, &time);
    _exit(9);
  }
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
static int Wait(void) {
  struct epoll_event event;
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  const int ready = epoll_wait(fd, &event, 1, 1);
  return ready * 2 + syscall(SYS_close, fd);
}
static void* RunThread(void* argument) {
  struct timeval time = {0, 500};
  select(0, NULL, NULL, NULL, &time);
  return argument;
}
static int Start(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, RunThread, NULL) != 0) return -1;
  return pthread_join(thread, NULL);
}
static int Take(void) {
  const struct timespec at_once = {0, 0};
  sigset_t set;
  sigset_t old;
  sigfillset(&set);
  sigprocmask(SIG_BLOCK, &set, &old);
  const int taken = sigtimedwait(&set, NULL, &at_once);
  sigprocmask(SIG_SETMASK, &old, NULL);
  return taken;
}
static int Ask(void) { return prctl(PR_GET_DUMPABLE) * 2 + (syscall(SYS_getppid) > 0) + setuid(getuid()); }
static int Trap(void) { return feenableexcept(FE_DIVBYZERO | FE_INVALID) * 0 + fegetround(); }

static int (*const kActions[])(void) = {SetStack, Fork, Wait, Start, Take, Ask, Trap};
static void Act(const char* where, char** arguments, uint32_t salt) {
  char line[128];
  int size = snprintf(line, sizeof line, "%s:", where);
  state =
      (uint32_t)(arguments != NULL && arguments[0] != NULL && arguments[1] != NULL ? atoi(arguments[1]) : 0) *
          977u +
      salt;
  for (uint32_t i = 1 + Draw(4); i > 0; --i) {
    const uint32_t what = Draw(sizeof kActions / sizeof *kActions);
    size += snprintf(line + size, sizeof line - (size_t)size, " %u=%d", what, kActions[what]());
  }
  line[size++] = '\n';
  syscall(SYS_write, 1, line, (long)size);
}

#ifdef IN_LIBRARY
__attribute__((constructor(101))) static void RunInLibrary(int count, char** arguments) {
  (void)count;
  Act("library", arguments, 3);
}
int UseLibrary(void);
int UseLibrary(void) { return 1; }
#else
__attribute__((constructor(101))) static void RunInConstructor(int count, char** arguments) {
  (void)count;
  Act("constructor", arguments, 1);
}
static void RunFirst(int count, char** arguments, char** environment) {
  (void)count;
  (void)environment;
  Act("first", arguments, 2);
}
__attribute__((section(".preinit_array"), used)) static void (*const run_first)(int, char**,
                                                                                char**) = RunFirst;
#endif
