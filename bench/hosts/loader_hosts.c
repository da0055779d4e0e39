// SPDX-License-Identifier: Apache-2.0
// Programs that wait while a library is being loaded: the loader's lock is held, and no other thread gets it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static void (*volatile in_constructor)(void);
// Called by the constructor of bench_host_plugin.
__attribute__((visibility("default"))) void RunInConstructor(void) { in_constructor(); }

static void LoadPlugin(void (*run)(void)) {
  char path[4096];
  in_constructor = run;
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 64);
  path[size < 0 ? 0 : size] = '\0';
  strcpy(strrchr(path, '/') + 1, "bench_host_plugin.so");
  if (dlopen(path, RTLD_NOW) == NULL) puts(dlerror());
}

static void WaitAndHang(void) {
  TickTimes(4, 10);
  HangOnce();
}
static int WaitInConstructor(void) {
  LoadPlugin(WaitAndHang);
  Tick(10);
  HangSleeping();
  Tick(10);
  return Done();
}

// The constructor waits for a thread, which waits for the first time.
static void* WaitOnce(void* unused) {
  Tick(10);
  return NULL;
}
static void JoinWaiter(void) { pthread_join(StartThread(WaitOnce, NULL), NULL); }
static int JoinInConstructor(void) {
  LoadPlugin(JoinWaiter);
  TickTimes(3, 10);
  HangOnce();
  return Done();
}

const struct Host kLoaderHosts[] = {
    {"wait_in_constructor", WaitInConstructor, "HangComputing,HangSleeping", ""},
    {"join_in_constructor", JoinInConstructor, "HangComputing", ""},
    {NULL, NULL, NULL, NULL},
};
