// SPDX-License-Identifier: Apache-2.0
// A host that does what hosts do, in an order that a seed decides, and prints what it saw: the same with and
// without a monitor.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static uint64_t state;
static uint32_t Random(uint32_t below) {  // xorshift64*, Vigna 2016
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (uint32_t)((state * 0x2545f4914f6cdd1dULL) >> 33) % below;
}

static void Compute(int ms) {
  for (const long end_ms = NowMs() + ms; NowMs() < end_ms;) {
  }
}

static int cleanups;
static void NoteCleanup(void* unused) {
  (void)unused;
  ++cleanups;
}
static void* WaitToBeCancelled(void* kind) {
  struct epoll_event event;
  pthread_cleanup_push(NoteCleanup, NULL);
  for (;;) {
    if (kind == NULL) poll(NULL, 0, -1);
    const int fd = epoll_create1(EPOLL_CLOEXEC);
    pthread_cleanup_push((void (*)(void*))(void (*)(void))close, (void*)(intptr_t)fd);
    epoll_wait(fd, &event, 1, -1);
    pthread_cleanup_pop(1);
  }
  pthread_cleanup_pop(0);
  return NULL;
}
static int CancelOne(void) {
  void* result = NULL;
  const pthread_t thread = StartThread(WaitToBeCancelled, Random(2) != 0 ? &cleanups : NULL);
  PauseMs((int)Random(4));
  pthread_cancel(thread);
  pthread_join(thread, &result);
  return result == PTHREAD_CANCELED;
}

static int ForkOne(void) {
  const int what = (int)Random(3);
  const pid_t child = fork();
  if (child == 0) {
    if (what == 0) _exit(CountDescriptors());
    if (what == 1) {
      Tick(1);
      Tick(1);
      exit(CountDescriptors());
    }
    execl("/bin/true", "true", (char*)NULL);
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int UseDescriptors(const char* path) {
  int numbers = 0;
  for (int fd = 3; fd < 32; ++fd) close(fd);
  for (int i = 0; i < 5; ++i) {
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    numbers = numbers * 31 + fd;
    if (write(fd, "12345678", 8) != 8) return -1;
  }
  PauseMs(1);
  struct stat status;
  if (stat(path, &status) != 0 || status.st_size != 8) return -2;
  for (int fd = 3; fd < 8; ++fd)
    if (close(fd) != 0) return -3;
  return numbers;
}

static char signal_stack[256 * 1024];
static int ChangeSignalStack(void) {
  static const size_t kSizes[] = {2048, 4096, 16384, 65536, 256 * 1024};
  const uint32_t which = Random(6);
  const stack_t stack = {.ss_sp = signal_stack,
                         .ss_size = which == 5 ? 0 : kSizes[which],
                         .ss_flags = which == 5 ? SS_DISABLE : 0};
  return sigaltstack(&stack, NULL);
}

static int handled;
static void Count(int signal_number) {
  (void)signal_number;
  ++handled;
}
static int HandleSignals(void) {
  const int signal_number = SIGRTMIN + (int)Random(6);
  struct sigaction action = {.sa_handler = Count, .sa_flags = Random(2) != 0 ? SA_RESTART : 0};
  struct sigaction previous;
  sigaction(signal_number, &action, &previous);
  handled = 0;
  for (int i = 0; i < 5; ++i) raise(signal_number);
  const int all = handled;
  sigaction(signal_number, &previous, NULL);
  return all;
}

static int BlockSignals(void) {
  sigset_t set;
  sigset_t previous;
  sigfillset(&set);
  sigprocmask(SIG_BLOCK, &set, &previous);
  Compute((int)Random(60));
  int pending = 0;
  sigpending(&set);
  for (int i = 1; i < 32; ++i) pending += sigismember(&set, i);
  sigprocmask(SIG_SETMASK, &previous, NULL);
  return pending;
}

// None may come: the program sends itself nothing meanwhile.
static int TakeSignals(void) {
  const struct timespec at_once = {0, 0};
  const int turns = (int)Random(2000);
  int taken = 0;
  for (int i = 0; i < turns; ++i) {
    sigset_t set;
    sigset_t previous;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, &previous);
    taken += sigtimedwait(&set, NULL, &at_once) > 0;
    sigprocmask(SIG_SETMASK, &previous, NULL);
  }
  return taken;
}

// Prints what the last call of it has left, and what was raised since.
static int ChangeFloats(void) {
  static const int kRoundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const int seen = fegetexcept() << 16 | fetestexcept(FE_ALL_EXCEPT) << 4 | fegetround() >> 10;
  fedisableexcept(FE_ALL_EXCEPT);
  feclearexcept(FE_ALL_EXCEPT);
  fesetround(kRoundings[Random(4)]);
  if (Random(2) != 0) feenableexcept(FE_ALL_EXCEPT);
  return seen;
}

static int ChangeLimit(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = 3 + Random(20);
  setrlimit(RLIMIT_NOFILE, &limit);
  int opened = 0;
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) ++opened;
  Compute((int)Random(60));
  Tick(1);
  for (int fd = 3; fd < 40; ++fd) close(fd);
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NOFILE, &limit);
  return opened;
}

static int ChangeMemory(void) {
  const size_t size = (size_t)(1 + Random(64)) << 20;
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  for (size_t at = 0; at < size; at += 65536) memory[at] = 1;
  mprotect(memory, size, PROT_READ);
  return munmap(memory, size);
}

int RunRandomHost(int argument_count, char** arguments) {
  if (argument_count < 2) return 64;
  char path[64];
  state = strtoull(arguments[0], NULL, 10) * 0x9e3779b97f4a7c15ULL + 1;
  const int steps = atoi(arguments[1]);
  snprintf(path, sizeof path, "/tmp/random-host-%d", (int)getpid());
  for (int i = 0; i < 3; ++i) Tick(5);
  for (int i = 0; i < steps; ++i) {
    int seen = 0;
    const uint32_t what = Random(14);
    switch (what) {
      case 0:
        seen = CancelOne();
        break;
      case 1:
      case 2:
        seen = ForkOne();
        break;
      case 3:
        seen = UseDescriptors(path);
        break;
      case 4:
        seen = ChangeSignalStack();
        break;
      case 5:
        seen = HandleSignals();
        break;
      case 6:
        seen = BlockSignals();
        break;
      case 7:
        seen = ChangeLimit();
        break;
      case 8:
        seen = ChangeMemory();
        break;
      case 9:
        Compute((int)Random(150));  // past the threshold now and then
        break;
      case 10:
        PauseMs((int)Random(120));
        break;
      case 11:
        seen = TakeSignals();
        break;
      case 12:
        seen = ChangeFloats();
        break;
      default:
        seen = CountDescriptors();
    }
    Tick((int)Random(3));
    printf("%d: %u %d\n", i, what, seen);
  }
  printf("cleanups %d, descriptors %d\n", cleanups, CountDescriptors());
  unlink(path);
  return 3;
}
