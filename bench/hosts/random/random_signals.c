// SPDX-License-Identifier: Apache-2.0
// Handlers, masks, signal stacks, and threads that take every signal.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/hosts/random/random.h"

// A stack that is too small for a signal goes again: while it is there, running threads have no stacks in
// reports.
static char signal_stack[256 * 1024];
static int ChangeSignalStack(void) {
  static const size_t kSizes[] = {2048, 4096, 16384, 65536, 256 * 1024};
  const uint32_t which = Random(6);
  const stack_t none = {.ss_flags = SS_DISABLE};
  const stack_t stack = {.ss_sp = signal_stack, .ss_size = kSizes[which % 5]};
  const int result = sigaltstack(which == 5 ? &none : &stack, NULL);
  if (which > 1) return result;
  Compute(60);
  return result * 2 + sigaltstack(&none, NULL);
}

static volatile int handled;
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

static int ChangeSignals(void) {
  static int (*const kSteps[])(void) = {ChangeSignalStack, HandleSignals, BlockSignals, TakeSignals};
  return kSteps[Random(sizeof kSteps / sizeof *kSteps)]();
}
const struct Ingredient kSignals = {"signals", NULL, ChangeSignals, NULL};

// All threads block all signals; one takes them by sigtimedwait(), or by a descriptor.
static sigset_t all;
static sigset_t before;
static volatile int own_taken;
static volatile int strays;
static volatile int is_over;
static void NoteTaken(int signal_number, pid_t sender, int code) {
  if (signal_number == SIGUSR1 && sender == getpid() && code == SI_USER) {
    ++own_taken;
  } else if (signal_number != SIGCHLD) {
    ++strays;
  }
}
static void* TakeByCall(void* unused) {
  const struct timespec short_time = {0, 20000000};
  while (!is_over) {
    siginfo_t info;
    if (sigtimedwait(&all, &info, &short_time) > 0) NoteTaken(info.si_signo, info.si_pid, info.si_code);
  }
  return unused;
}
static void* TakeByDescriptor(void* unused) {
  struct signalfd_siginfo info;
  struct pollfd polled = {.fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC), .events = POLLIN};
  const int high = dup3(polled.fd, 150, O_CLOEXEC);
  close(polled.fd);
  polled.fd = high;
  while (!is_over) {
    poll(&polled, 1, 20);
    while (read(polled.fd, &info, sizeof info) == sizeof info)
      NoteTaken((int)info.ssi_signo, (pid_t)info.ssi_pid, info.ssi_code);
  }
  close(polled.fd);
  return unused;
}
static pthread_t taker;
static void BeginTaking(void) {
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  taker = StartThread(Random(2) != 0 ? TakeByCall : TakeByDescriptor, NULL);
}
static int SendOne(void) {
  const int expected = own_taken + 1;
  kill(getpid(), SIGUSR1);
  for (int i = 0; own_taken < expected && i < 100; ++i) PauseMs(2);
  return own_taken - expected;
}
static int EndTaking(void) {
  is_over = 1;
  pthread_join(taker, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return strays;
}
const struct Ingredient kTakers = {"takers", BeginTaking, SendOne, EndTaking};
