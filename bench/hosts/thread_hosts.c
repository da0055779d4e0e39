// SPDX-License-Identifier: Apache-2.0
// Programs whose loops run in other threads than the main one.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static void* Loop(void* unused) {
  prctl(PR_SET_NAME, "worker");
  TickTimes(150, 10);
  HangComputing();
  TickTimes(10, 10);
  return NULL;
}

// As in a JVM: the main thread only waits for another.
static int LoopElsewhere(void) {
  pthread_join(StartThread(Loop, NULL), NULL);
  return Done();
}
static int ManyLoops(void) {
  pthread_t threads[8];
  Tick(10);
  for (int i = 0; i < 8; ++i) threads[i] = StartThread(Loop, NULL);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  return Done();
}
static void* PollOnce(void* unused) {
  Tick(1);
  return NULL;
}
static int ManyThreads(void) {
  Tick(10);
  for (int i = 0; i < 400; ++i) {
    pthread_join(StartThread(PollOnce, NULL), NULL);
    if (i % 20 == 0) Tick(0);
  }
  puts("done");
  return HangOnce();
}

// Another thread takes the place of the main one, and waits seldom.
static void* TakeItsPlace(void* unused) {
  Tick(20);
  PauseMs(100);
  Tick(20);
  HangComputing();
  Tick(20);
  puts("done");
  exit(3);
}
static int LeaveItToOne(void) {
  Tick(20);
  StartThread(TakeItsPlace, NULL);
  pthread_exit(NULL);
}

// The first waits are a coroutine's.
static ucontext_t g_caller;
static ucontext_t g_coroutine;
static void RunCoroutine(void) {
  TickTimes(5, 10);
  HangOnce();
}
static int WaitInCoroutine(void) {
  enum { kStackBytes = 16 * 1024 };
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = GuardedMemory(kStackBytes);
  g_coroutine.uc_stack.ss_size = kStackBytes;
  g_coroutine.uc_link = &g_caller;
  makecontext(&g_coroutine, RunCoroutine, 0);
  swapcontext(&g_caller, &g_coroutine);
  return Done();
}

// A thread that waits, and then works, when its specific data are destroyed; in the place of its loop another
// thread's may be watched by then. That one waits meanwhile, which is no hang.
static pthread_key_t key;
static pthread_barrier_t has_waited;
static void WaitLate(void* unused) {
  pthread_barrier_wait(&has_waited);  // the other thread has the place
  Tick(1);
  for (int i = 0; i < 3; ++i) {
    const double end = (double)clock() + 0.2 * CLOCKS_PER_SEC;
    while ((double)clock() < end) {
    }
  }
}
static void* WaitInDestructor(void* unused) {
  TickTimes(2, 1);
  pthread_setspecific(key, &key);
  return unused;
}
static void* WaitBeside(void* unused) {
  PauseMs(200);  // the first thread is in its destructor
  TickTimes(2, 1);
  pthread_barrier_wait(&has_waited);
  Tick(1500);
  return unused;
}
static int PollInDestructor(void) {
  Tick(1);  // lagwatch has its key by now, whose data are destroyed first
  Checked(-pthread_key_create(&key, WaitLate), "pthread_key_create");
  pthread_barrier_init(&has_waited, NULL, 2);
  const pthread_t first = StartThread(WaitInDestructor, NULL);
  const pthread_t beside = StartThread(WaitBeside, NULL);
  pthread_join(first, NULL);
  pthread_join(beside, NULL);
  return Done();
}

const struct Host kThreadHosts[] = {
    {"leave_it_to_one", LeaveItToOne, "HangComputing", ""},
    {"wait_in_coroutine", WaitInCoroutine, "HangComputing", ""},
    {"loop_elsewhere", LoopElsewhere, "HangComputing", ""},
    {"many_loops", ManyLoops, "HangComputing", "all"},
    {"many_threads", ManyThreads, "HangComputing", "all"},
    {"poll_in_destructor", PollInDestructor, "", "all"},
    {NULL, NULL, NULL, NULL},
};
