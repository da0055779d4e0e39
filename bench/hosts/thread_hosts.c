// SPDX-License-Identifier: Apache-2.0
// Programs whose loops run in other threads than the main one.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static void* Loop(void* unused) {
  (void)unused;
  prctl(PR_SET_NAME, "worker");
  for (int i = 0; i < 150; ++i) Tick(10);
  HangComputing();
  for (int i = 0; i < 10; ++i) Tick(10);
  return NULL;
}

// As in a JVM: the main thread only waits for another.
static int LoopElsewhere(int count, char** arguments) {
  (void)count;
  (void)arguments;
  pthread_join(StartThread(Loop, NULL), NULL);
  puts("done");
  return 3;
}
static int ManyLoops(int count, char** arguments) {
  pthread_t threads[8];
  (void)count;
  (void)arguments;
  Tick(10);
  for (int i = 0; i < 8; ++i) threads[i] = StartThread(Loop, NULL);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 3;
}
static void* PollOnce(void* unused) {
  (void)unused;
  Tick(1);
  return NULL;
}
static int ManyThreads(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(10);
  for (int i = 0; i < 400; ++i) {
    pthread_join(StartThread(PollOnce, NULL), NULL);
    if (i % 20 == 0) Tick(0);
  }
  puts("done");
  HangComputing();
  Tick(10);
  return 3;
}

// Another thread takes the place of the main one, and waits seldom.
static void* TakeItsPlace(void* unused) {
  (void)unused;
  Tick(20);
  PauseMs(100);
  Tick(20);
  HangComputing();
  Tick(20);
  puts("done");
  exit(3);
}
static int LeaveItToOne(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(20);
  StartThread(TakeItsPlace, NULL);
  pthread_exit(NULL);
}

// The first waits are a coroutine's.
static ucontext_t g_caller;
static ucontext_t g_coroutine;
static void RunCoroutine(void) {
  for (int i = 0; i < 5; ++i) Tick(10);
  HangComputing();
  Tick(10);
}
static int WaitInCoroutine(int count, char** arguments) {
  enum { kGuardBytes = 4096, kStackBytes = 16 * 1024 };
  (void)count;
  (void)arguments;
  char* memory =
      mmap(NULL, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  Checked(mprotect(memory, kGuardBytes, PROT_NONE), "mprotect");
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = memory + kGuardBytes;
  g_coroutine.uc_stack.ss_size = kStackBytes;
  g_coroutine.uc_link = &g_caller;
  makecontext(&g_coroutine, RunCoroutine, 0);
  swapcontext(&g_caller, &g_coroutine);
  puts("done");
  return 3;
}

const struct Host kThreadHosts[] = {
    {"leave_it_to_one", LeaveItToOne, "HangComputing", ""},
    {"wait_in_coroutine", WaitInCoroutine, "HangComputing", ""},
    {"loop_elsewhere", LoopElsewhere, "HangComputing", ""},
    {"many_loops", ManyLoops, "HangComputing", "all"},
    {"many_threads", ManyThreads, "HangComputing", "all"},
    {NULL, NULL, NULL, NULL},
};
