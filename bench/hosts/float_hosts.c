// SPDX-License-Identifier: Apache-2.0
// Programs with a floating-point environment of their own: nothing of lagwatch's may trap in it or change it.
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static void PrintEnvironment(const char* moment) {
  printf("%s: traps %x flags %x rounding %x\n", moment, (unsigned)fegetexcept(),
         (unsigned)fetestexcept(FE_ALL_EXCEPT), (unsigned)fegetround());
}

static void* TickInThread(void* unused) {
  TickTimes(3, 5);
  PrintEnvironment("thread");
  return unused;
}

// Waits, hangs, forks and starts a thread; no call here computes with floating-point numbers.
static int HangAndFork(void) {
  TickTimes(4, 10);
  PrintEnvironment("waited");
  HangOnce();
  PrintEnvironment("computed");
  HangSleeping();
  Tick(10);
  PrintEnvironment("slept");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    TickTimes(3, 5);
    PrintEnvironment("child");
    execl("/bin/false", "false", NULL);
    _exit(70);
  }
  const int code = WaitFor(child);
  pthread_join(StartThread(TickInThread, NULL), NULL);
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);  // lagwatch stops for it
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  PrintEnvironment("end");
  return 3 + code;
}

static int TrapFloats(void) {
  feenableexcept(FE_ALL_EXCEPT);
  return HangAndFork();
}

static int TrapFloatsLater(void) {
  TickTimes(4, 10);
  feenableexcept(FE_ALL_EXCEPT);
  return HangAndFork();
}

static int KeepFloatEnvironment(void) {
  fesetround(FE_UPWARD);
  feraiseexcept(FE_DIVBYZERO);
  feclearexcept(FE_INEXACT);
  return HangAndFork();
}

const struct Host kFloatHosts[] = {
    {"trap_floats", TrapFloats, "HangComputing,HangSleeping", ""},
    {"trap_floats_later", TrapFloatsLater, "HangComputing,HangSleeping", ""},
    {"keep_float_environment", KeepFloatEnvironment, "HangComputing,HangSleeping", ""},
    {NULL, NULL, NULL, NULL},
};
