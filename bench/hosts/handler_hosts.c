// SPDX-License-Identifier: Apache-2.0
// Programs whose handlers wait, in the calls that programs in idle_hosts.c idle in, at the same place each
// time.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench/hosts/host.h"

enum { kHangMs = 600, kHangs = 3 };

static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_done;

static void* WakeLater(void* unused) {
  PauseMs(kHangMs);
  if (write(ends[1], "x", 1) != 1) return NULL;
  pthread_mutex_lock(&mutex);
  is_done = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  kill(getpid(), SIGUSR1);
  return NULL;
}

__attribute__((noinline)) static void HangReading(void) {
  char byte;
  const pthread_t thread = StartThread(WakeLater, NULL);
  Checked((int)read(ends[0], &byte, 1), "read");
  pthread_join(thread, NULL);
}
__attribute__((noinline)) static void HangJoining(void) {
  char byte;
  pthread_join(StartThread(WakeLater, NULL), NULL);
  Checked((int)read(ends[0], &byte, 1), "read");
}
__attribute__((noinline)) static void HangOnCondition(void) {
  char byte;
  is_done = 0;
  const pthread_t thread = StartThread(WakeLater, NULL);
  pthread_mutex_lock(&mutex);
  while (!is_done) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
  Checked((int)read(ends[0], &byte, 1), "read");
}
__attribute__((noinline)) static void HangInSigwait(void) {
  char byte;
  int number;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  const pthread_t thread = StartThread(WakeLater, NULL);
  sigwait(&set, &number);
  pthread_join(thread, NULL);
  Checked((int)read(ends[0], &byte, 1), "read");
}

// A loop of an epoll descriptor that calls `handle` now and then.
static int RunHandler(void (*handle)(void)) {
  struct epoll_event event;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  Checked(pipe(ends), "pipe");
  const int epoll = Checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  for (int i = 0; i < kHangs; ++i) {
    for (int turn = 0; turn < 8; ++turn) epoll_wait(epoll, &event, 1, 5);
    handle();
  }
  for (int turn = 0; turn < 8; ++turn) epoll_wait(epoll, &event, 1, 5);
  return Done();
}

static int ReadInHandler(void) { return RunHandler(HangReading); }
static int JoinInHandler(void) { return RunHandler(HangJoining); }
static int WaitInHandler(void) { return RunHandler(HangOnCondition); }
static int SigwaitInHandler(void) { return RunHandler(HangInSigwait); }
static int SleepInHandler(void) { return RunHandler(HangSleeping); }

// A loop whose waits lie far below its handlers: they have room for many events.
__attribute__((noinline)) static void WaitForEvents(int epoll) {
  struct epoll_event events[512];
  epoll_wait(epoll, events, 512, 5);
  __asm__ volatile("" : : "r"(events) : "memory");
}
static int SleepAboveWait(void) {
  const int epoll = Checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  for (int i = 0; i < kHangs; ++i) {
    for (int turn = 0; turn < 8; ++turn) WaitForEvents(epoll);
    HangSleeping();
  }
  WaitForEvents(epoll);
  return Done();
}

const struct Host kHandlerHosts[] = {
    {"read_in_handler", ReadInHandler, "HangReading", "times=3"},
    {"join_in_handler", JoinInHandler, "HangJoining", "times=3"},
    {"cond_wait_in_handler", WaitInHandler, "HangOnCondition", "times=3"},
    {"sigwait_in_handler", SigwaitInHandler, "HangInSigwait", "times=3"},
    {"sleep_in_handler", SleepInHandler, "HangSleeping", "times=3"},
    {"sleep_above_wait", SleepAboveWait, "HangSleeping", "times=2"},
    {NULL, NULL, NULL, NULL},
};
