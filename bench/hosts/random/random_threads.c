// SPDX-License-Identifier: Apache-2.0
// Threads that are cancelled in waits; threads that look like those of a monitor.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/hosts/random/random.h"

static int cleanups;
static void NoteCleanup(void* unused) {
  (void)unused;
  ++cleanups;
}
static void CloseOne(void* fd) { close(*(int*)fd); }
static void* WaitToBeCancelled(void* kind) {
  struct epoll_event event;
  pthread_cleanup_push(NoteCleanup, NULL);
  for (;;) {
    if (kind == NULL) poll(NULL, 0, -1);
    int fd = epoll_create1(EPOLL_CLOEXEC);
    pthread_cleanup_push(CloseOne, &fd);
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
static int CleanupCount(void) { return cleanups; }
const struct Ingredient kThreads = {"threads", NULL, CancelOne, CleanupCount};

// Names of lagwatch's threads and tools, and the calls that they wait in.
static const char* const kThreadNames[] = {"lagwatch",       "lagwatch-sync", "lagwatch-main",
                                           "lagwatch-tick",  "lagwatch-call", "lagwatch-attach",
                                           "lagwatch-upload"};
enum { kLookalikes = 4, kWaits = 6 };
static pthread_t lookalikes[kLookalikes];
static struct {
  const char* name;
  uint32_t wait;
  pid_t thread;  // 0 until it runs
} parts[kLookalikes];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static void Unlock(void* unused) {
  (void)unused;
  pthread_mutex_unlock(&mutex);
}

static void WaitFor(uint32_t what) {
  const struct timespec long_time = {100, 0};
  sigset_t most;
  switch (what) {
    case 0:
      pause();
      break;
    case 1:
      sigfillset(&most);
      sigsuspend(&most);
      break;
    case 2:
      ppoll(NULL, 0, &long_time, NULL);
      break;
    case 3:
      clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL);
      break;
    case 4:
      PauseMs(5);
      break;
    default:
      pthread_mutex_lock(&mutex);
      pthread_cleanup_push(Unlock, NULL);
      pthread_cond_wait(&condition, &mutex);
      pthread_cleanup_pop(1);
  }
}
static void* LookAlike(void* part) {
  const long i = (long)part;
  pthread_setname_np(pthread_self(), parts[i].name);
  __atomic_store_n(&parts[i].thread, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
  for (;;) WaitFor(parts[i].wait);
  return NULL;
}
static void BeginLookalikes(void) {
  for (long i = 0; i < kLookalikes; ++i) {
    parts[i].name = kThreadNames[Random(sizeof kThreadNames / sizeof *kThreadNames)];
    parts[i].wait = Random(kWaits);
    lookalikes[i] = StartThread(LookAlike, (void*)i);
  }
}
static int AskLookalikes(void) {
  const uint32_t i = Random(kLookalikes);
  char name[32] = "";
  pid_t thread;
  while ((thread = __atomic_load_n(&parts[i].thread, __ATOMIC_ACQUIRE)) == 0) PauseMs(1);
  pthread_getname_np(lookalikes[i], name, sizeof name);
  pthread_cond_broadcast(&condition);
  return strcmp(name, parts[i].name) == 0 && syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}
static int EndLookalikes(void) {
  int cancelled = 0;
  for (int i = 0; i < kLookalikes; ++i) {
    void* result = NULL;
    pthread_cancel(lookalikes[i]);
    pthread_join(lookalikes[i], &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  return cancelled;
}
const struct Ingredient kNames = {"names", BeginLookalikes, AskLookalikes, EndLookalikes};
