// SPDX-License-Identifier: Apache-2.0
// Planted hangs, each of which is to be reported with its function's name.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/hosts/random/random.h"

enum { kHangMs = 900 };
#define HANG __attribute__((noinline)) static void
#define NO_TAIL_CALL __asm__ volatile("")  // the function stays in the stack

static volatile unsigned long sum;
HANG HangComputing(void) {
  for (const long end_ms = NowMs() + kHangMs; NowMs() < end_ms;) {
    for (int i = 0; i < 100000; ++i) sum = sum + (unsigned long)i;
  }
}
HANG HangSleeping(void) {
  PauseMs(kHangMs);
  NO_TAIL_CALL;
}

HANG HangAllocating(void) {
  for (const long end_ms = NowMs() + kHangMs; NowMs() < end_ms;) {
    for (int i = 0; i < 300; ++i) free(memset(malloc((size_t)(16 + i)), i, 16));
  }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_locked;
static void* HoldLock(void* unused) {
  pthread_mutex_lock(&mutex);
  sem_post(&is_locked);
  PauseMs(kHangMs);
  pthread_mutex_unlock(&mutex);
  return unused;
}
HANG HangLocked(void) {
  sem_init(&is_locked, 0, 0);
  const pthread_t holder = StartThread(HoldLock, NULL);
  sem_wait(&is_locked);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_join(holder, NULL);
}

// Not by _exit: the program is watched to its end.
HANG HangReading(void) {
  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    PauseMs(kHangMs);
    _exit(write(ends[1], &byte, 1) != 1);
  }
  close(ends[1]);
  while (read(ends[0], &byte, 1) == 1) {
  }
  close(ends[0]);
  waitpid(child, NULL, 0);
}
HANG HangOnChild(void) {
  const pid_t child = fork();
  if (child == 0) {
    PauseMs(kHangMs);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  NO_TAIL_CALL;
}

static const struct {
  const char* name;
  void (*hang)(void);
  int may_be_idle;  // by its system call
} kKinds[] = {
    {"HangComputing", HangComputing, 0},   {"HangSleeping", HangSleeping, 1},
    {"HangAllocating", HangAllocating, 0}, {"HangLocked", HangLocked, 0},
    {"HangReading", HangReading, 1},       {"HangOnChild", HangOnChild, 1},
};
static uint32_t ChooseKind(void) { return Random(sizeof kKinds / sizeof *kKinds); }
const char* ChooseHang(int* may_be_idle) {
  const uint32_t kind = ChooseKind();
  *may_be_idle = kKinds[kind].may_be_idle;
  return kKinds[kind].name;
}

static int HangOnce(void) {
  const uint32_t kind = ChooseKind();
  kKinds[kind].hang();
  return (int)kind;
}

const struct Ingredient kHangs = {"hangs", NULL, HangOnce, NULL};
