// SPDX-License-Identifier: Apache-2.0
// Programs that are exact about their descriptors.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static atomic_int is_over;

// Closes all descriptors that it does not know, as daemons do, and writes a file: again and again.
static void* ReopenAll(void* unused) {
  char path[] = "/tmp/host-data-XXXXXX";
  long lost = 0;
  long foreign = 0;
  close(Checked(mkstemp(path), path));
  while (!is_over) {
    struct stat status;
    for (int fd = 3; fd < 16; ++fd) close(fd);
    const int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (fd < 0 || write(fd, "HOSTDATA", 8) != 8) ++lost;
    usleep(30);
    if (fstat(fd, &status) != 0) ++lost;
    if (status.st_size != 8) ++foreign;
    if (close(fd) != 0) ++lost;
  }
  unlink(path);
  printf("lost %ld, foreign %ld\n", lost, foreign);
  return NULL;
}

// open() returns the lowest free number: after close(0) that is 0.
static void* ReopenZero(void* unused) {
  long others = 0;
  close(0);
  while (!is_over) {
    const int fd = open("/dev/null", O_RDONLY);
    if (fd != 0) ++others;
    close(fd);
  }
  printf("other numbers %ld\n", others);
  return NULL;
}

static int HangBeside(void* (*run)(void*)) {
  Tick(5);
  Tick(5);
  const pthread_t thread = StartThread(run, NULL);
  HangSleeping();
  Tick(20);
  HangComputing();
  TickTimes(5, 20);
  is_over = 1;
  pthread_join(thread, NULL);
  return 3;
}
static int CloseAndReopen(void) { return HangBeside(ReopenAll); }
static int CloseZero(void) { return HangBeside(ReopenZero); }

static int UseAllDescriptors(rlim_t most) {
  const struct rlimit limit = {most, most};
  int count = 0;
  BeginLoop();
  PauseMs(100);
  Checked(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) ++count;
  printf("opened %d, then %s\n", count, strerror(errno));
  HangComputing();
  Tick(20);
  HangSleeping();
  Tick(20);
  return 3;
}
static int UseAll64(void) { return UseAllDescriptors(64); }
static int UseNone(void) { return UseAllDescriptors(0); }

static int CountThem(void) {
  int most = CountDescriptors();
  BeginLoop();
  for (int i = 0; i < 50; ++i) {
    const int now = CountDescriptors();
    if (now > most) most = now;
    Tick(1);
  }
  HangOnce();
  printf("descriptors %d, at most %d\n", CountDescriptors(), most);
  return 3;
}

// Children see no descriptor that the parent did not open.
static int CountInChildren(void) {
  int most = 0;
  BeginLoop();
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(CountDescriptors());
    const int descriptors = WaitFor(child);
    if (descriptors > most) most = descriptors;
    if (i == 20) HangComputing();
    Tick(1);
  }
  printf("at most %d\n", most);
  return 3;
}

const struct Host kDescriptorHosts[] = {
    {"close_and_reopen", CloseAndReopen, "HangSleeping,HangComputing", ""},
    {"close_zero", CloseZero, "HangSleeping,HangComputing", ""},
    {"use_all_descriptors", UseAll64, "HangComputing,HangSleeping", ""},
    {"no_descriptor_allowed", UseNone, "HangComputing,HangSleeping", "nostack"},
    {"count_descriptors", CountThem, "HangComputing", ""},
    {"count_in_children", CountInChildren, "HangComputing", ""},
    {NULL, NULL, NULL, NULL},
};
