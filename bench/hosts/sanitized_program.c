// SPDX-License-Identifier: Apache-2.0
// A loop that hangs once, for bench/hosts/sanitized_hosts.py, which builds it with each compiler's sanitizers.
// Their runtimes stand in front of the C library, too, and start before any constructor.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void HangComputing(void) {
  struct timespec begin;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (int i = 0; i < 100000; ++i) sum = sum + (unsigned long)i;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 700);
}

__attribute__((noinline)) static void HangSleeping(void) {
  const struct timespec time = {0, 700000000};
  nanosleep(&time, NULL);
  sum = sum + 1;
}

static void* UseMemory(void* unused) {
  for (int i = 1; i < 2000; ++i) {
    char* memory = malloc((size_t)i);
    memset(memory, i, (size_t)i);
    free(memory);
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  for (int i = 0; i < 12; ++i) poll(NULL, 0, 5);
  HangComputing();
  poll(NULL, 0, 5);
  pthread_create(&thread, NULL, UseMemory, NULL);
  HangSleeping();
  poll(NULL, 0, 5);
  pthread_join(thread, NULL);
  puts("done");
  return 3;
}
