// SPDX-License-Identifier: Apache-2.0
// Programs whose loops run in other threads than the main one.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

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

const struct Host kThreadHosts[] = {
    {"loop_elsewhere", LoopElsewhere, "HangComputing", ""},
    {"many_loops", ManyLoops, "HangComputing", "all"},
    {"many_threads", ManyThreads, "HangComputing", "all"},
    {NULL, NULL, NULL, NULL},
};
