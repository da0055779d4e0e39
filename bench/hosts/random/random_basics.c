// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/hosts/random/random.h"

// The runtime of ThreadSanitizer asks for it: exits would take a second.
const char* __tsan_default_options(void);
const char* __tsan_default_options(void) { return "atexit_sleep_ms=0"; }

static uint64_t state;
void Reseed(uint64_t seed, int step) {
  state = (seed * 0x9e3779b97f4a7c15ULL) ^ ((uint64_t)(step + 100) * 0xbf58476d1ce4e5b9ULL);
  if (state == 0) state = 1;
  for (int i = 0; i < 8; ++i) Random(2);
}
uint32_t Random(uint32_t below) {  // xorshift64*, Vigna 2016
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (uint32_t)((state * 0x2545f4914f6cdd1dULL) >> 33) % below;
}

// The C library's, which a cancellation reaches, unless the program defines it.
void PauseMs(int ms) {
  struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

long NowMs(void) {
  struct timespec now = {0, 0};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

void Compute(int ms) {
  for (const long end_ms = NowMs() + ms; NowMs() < end_ms;) {
  }
}

int CountDescriptors(void) {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == NULL) return -1;
  int count = 0;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count - 3;  // ".", ".." and the directory itself
}

static __thread int is_program_thread __attribute__((tls_model("initial-exec")));
int IsProgramThread(void) { return is_program_thread || syscall(SYS_gettid) == syscall(SYS_getpid); }

struct Start {
  void* (*run)(void*);
  void* argument;
};
static void* RunStarted(void* start) {
  const struct Start copy = *(struct Start*)start;
  is_program_thread = 1;
  free(start);
  return copy.run(copy.argument);
}
unsigned long StartThread(void* (*run)(void*), void* argument) {
  pthread_t thread;
  struct Start* start = malloc(sizeof *start);
  *start = (struct Start){run, argument};
  const int error = pthread_create(&thread, NULL, RunStarted, start);
  if (error == 0) return thread;
  printf("no thread: %d\n", error);
  exit(70);
}
