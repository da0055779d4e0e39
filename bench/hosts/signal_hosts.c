// SPDX-License-Identifier: Apache-2.0
// Programs with handlers, masks and signal stacks of their own.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static atomic_int handled;
static void Count(int signal_number) { ++handled; }

static int HangAndCount(void) {
  BeginLoop();
  HangTwice();
  printf("signals handled %d\n", handled);
  return 3;
}

// A signal stack between pages that cannot be touched.
static void UseSignalStack(size_t size) {
  const stack_t stack = {.ss_sp = GuardedMemory(size), .ss_size = size};
  const struct sigaction action = {.sa_handler = Count, .sa_flags = SA_ONSTACK};
  Checked(sigaltstack(&stack, NULL), "sigaltstack");
  Checked(sigaction(SIGSEGV, &action, NULL), "sigaction");
}
static int SmallSignalStack(void) {
  UseSignalStack(2048);
  return HangAndCount();
}
static void* HangOnSignalStack(void* unused) {
  UseSignalStack(4096);
  BeginLoop();
  HangOnce();
  return NULL;
}
static int SmallSignalStackInThread(void) {
  BeginLoop();
  pthread_join(StartThread(HangOnSignalStack, NULL), NULL);
  return HangAndCount();
}
static int LargeSignalStack(void) {
  UseSignalStack(64 * 1024);
  return HangAndCount();
}

static int BlockAll(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  return HangAndCount();
}
static int HandleAll(void) {
  for (int i = 1; i <= 64; ++i) signal(i, Count);
  return HangAndCount();
}
static int HandleAllLater(void) {
  BeginLoop();
  for (int i = 1; i <= 64; ++i) signal(i, Count);
  return HangAndCount();
}
static int ResetAll(void) {
  BeginLoop();
  PauseMs(50);
  for (int i = 1; i <= 64; ++i) signal(i, SIG_DFL);
  return HangAndCount();
}
static int ListHandlers(void) {
  int before = 0;
  struct sigaction action;
  for (int i = 1; i < 32; ++i) before += sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
  printf("standard signals with handlers %d\n", before);
  return HangAndCount();
}

// A descriptor for signals sees only those that were meant for it.
static int ReadSignals(void) {
  sigset_t set;
  struct signalfd_siginfo info;
  int others = 0;
  sigfillset(&set);
  sigprocmask(SIG_BLOCK, &set, NULL);
  const int fd = Checked(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
  HangAndCount();
  while (read(fd, &info, sizeof info) == sizeof info) ++others;
  printf("signals of others %d\n", others);
  return 3;
}

// Blocks and takes all signals by turns while it is busy: none may come that the program did not send.
static int TakeByTurns(int (*take)(const sigset_t* set, siginfo_t* info)) {
  sigset_t all;
  sigset_t old;
  siginfo_t info;
  int strays = 0;
  sigfillset(&all);
  TickTimes(4, 10);
  for (int hang = 0; hang < 3; ++hang) {
    for (const long end_ms = NowMs() + 700; NowMs() < end_ms;) {
      sigprocmask(SIG_BLOCK, &all, &old);
      for (volatile int i = 0; i < 2000; ++i) {
      }
      while (take(&all, &info) > 0) ++strays;
      sigprocmask(SIG_SETMASK, &old, NULL);
      for (volatile int i = 0; i < 2000; ++i) {
      }
    }
    Tick(10);
  }
  printf("strays %d\n", strays);
  return 3;
}
static int TakeNow(const sigset_t* set, siginfo_t* info) {
  const struct timespec at_once = {0, 0};
  return sigtimedwait(set, info, &at_once);
}
static int TakeNowByCall(const sigset_t* set, siginfo_t* info) {
  const struct timespec at_once = {0, 0};
  return (int)syscall(SYS_rt_sigtimedwait, set, info, &at_once, 8);
}
// By a function that waits: for a signal that the thread sends itself.
static int TakeOwn(const sigset_t* set, siginfo_t* info) {
  int taken = 0;
  pthread_kill(pthread_self(), SIGRTMAX);
  if (handled++ % 2 == 0 ? sigwait(set, &taken) != 0 : (taken = sigwaitinfo(set, info)) < 0) return 1;
  return taken == SIGRTMAX ? 0 : 1;
}
static int TakeByDescriptor(const sigset_t* set, siginfo_t* info) {
  static int fd = -1;
  struct signalfd_siginfo taken;
  (void)info;
  if (fd < 0) fd = Checked(signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
  return read(fd, &taken, sizeof taken) == sizeof taken ? (int)taken.ssi_signo : 0;
}
static int TakeSignals(void) { return TakeByTurns(TakeNow); }
static int TakeSignalsByCall(void) { return TakeByTurns(TakeNowByCall); }
static int TakeSignalsByDescriptor(void) { return TakeByTurns(TakeByDescriptor); }
static int TakeSignalsInWait(void) { return TakeByTurns(TakeOwn); }

static int InterruptsOfTurn(sem_t* semaphore) {
  int interrupts = 0;
  const struct timespec end = After(CLOCK_REALTIME, 10);
  if (sem_timedwait(semaphore, &end) != 0 && errno == EINTR) ++interrupts;
  const struct timespec shortly = {0, 2000000};
  if (nanosleep(&shortly, NULL) != 0) ++interrupts;
  Tick(0);
  return interrupts;
}
// Calls that end with EINTR after any handler: none may, because the program handles nothing. Its loop sleeps
// between its turns, and goes on after the hang.
static int CountInterrupts(void) {
  int interrupts = 0;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  BeginLoop();
  for (int i = 0; i < 60; ++i) interrupts += InterruptsOfTurn(&semaphore);
  Tick(10);
  printf("interrupts %d\n", interrupts);
  HangSleeping();
  for (int i = 0; i < 3; ++i) InterruptsOfTurn(&semaphore);
  Tick(10);
  return 3;
}

static void* SendSignals(void* main_thread) {
  for (int i = 0; i < 200; ++i) {
    pthread_kill(*(pthread_t*)main_thread, SIGRTMIN + 3);
    PauseMs(2);
  }
  return NULL;
}
// Queued signals all arrive.
static int CountSignals(void) {
  pthread_t self = pthread_self();
  signal(SIGRTMIN + 3, Count);
  BeginLoop();
  const pthread_t thread = StartThread(SendSignals, &self);
  HangOnce();
  pthread_join(thread, NULL);
  printf("signals %d\n", handled);
  return 3;
}

// Real-time signals end a program that does not handle them.
static int EndByRealTimeSignals(void) {
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      TickTimes(2, 1);
      raise(number);
      _exit(0);
    }
    printf("%d ", -WaitFor(child) - SIGRTMIN);
  }
  puts("");
  return 3;
}

// Not by the C library's function.
static int SmallSignalStackByCall(void) {
  static char memory[2048];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
  BeginLoop();
  Checked((int)syscall(SYS_sigaltstack, &stack, NULL), "sigaltstack");
  Checked(sigaltstack((const stack_t*)16, NULL) + 1, "no such stack");
  HangTwice();
  return Done();
}

const struct Host kSignalHosts[] = {
    {"end_by_real_time_signals", EndByRealTimeSignals, "", ""},
    {"small_signal_stack_by_call", SmallSignalStackByCall, "HangComputing,HangSleeping", "nostack"},
    {"small_signal_stack", SmallSignalStack, "HangComputing,HangSleeping", "nostack"},
    {"small_signal_stack_in_thread", SmallSignalStackInThread, "HangComputing,HangSleeping", "all,nostack"},
    {"large_signal_stack", LargeSignalStack, "HangComputing,HangSleeping", ""},
    {"block_all_signals", BlockAll, "HangComputing,HangSleeping", "nostack"},
    {"handle_all_signals", HandleAll, "HangComputing,HangSleeping", "nostack"},
    {"handle_all_signals_later", HandleAllLater, "HangComputing,HangSleeping", "nostack"},
    {"reset_all_signals", ResetAll, "HangComputing,HangSleeping", ""},
    {"list_handlers", ListHandlers, "HangComputing,HangSleeping", ""},
    {"read_signals", ReadSignals, "HangComputing,HangSleeping", "nostack"},
    {"take_signals", TakeSignals, "TakeByTurns", "nostack"},
    {"take_signals_by_call", TakeSignalsByCall, "TakeByTurns", "nostack"},
    {"take_signals_by_descriptor", TakeSignalsByDescriptor, "TakeByTurns", "nostack"},
    {"take_signals_in_wait", TakeSignalsInWait, "TakeByTurns", "nostack"},
    {"count_interrupts", CountInterrupts, "HangSleeping", ""},
    {"count_signals", CountSignals, "HangComputing", ""},
    {NULL, NULL, NULL, NULL},
};
