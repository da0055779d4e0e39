// SPDX-License-Identifier: Apache-2.0
// Descriptors, limits, memory, floating-point environments and clocks.
#define _GNU_SOURCE
#include <fcntl.h>
#include <fenv.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "bench/hosts/random/random.h"

static int UseDescriptors(void) {
  char path[64];
  struct stat status;
  int numbers = 0;
  snprintf(path, sizeof path, "/tmp/random-host-%d", (int)getpid());
  for (int fd = 3; fd < 32; ++fd) close(fd);
  for (int i = 0; i < 5; ++i) {
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    numbers = numbers * 31 + fd;
    if (write(fd, "12345678", 8) != 8) return -1;
  }
  PauseMs(1);
  if (stat(path, &status) != 0 || status.st_size != 8) return -2;
  for (int fd = 3; fd < 8; ++fd)
    if (close(fd) != 0) return -3;
  return unlink(path) == 0 ? numbers : -4;
}

static int ChangeLimit(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = 3 + Random(20);
  setrlimit(RLIMIT_NOFILE, &limit);
  int opened = 0;
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) ++opened;
  Compute((int)Random(60));
  for (int fd = 3; fd < 40; ++fd) close(fd);
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NOFILE, &limit);
  return opened;
}

static int ChangeMemory(void) {
  const size_t size = (size_t)(1 + Random(64)) << 20;
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  for (size_t at = 0; at < size; at += 65536) memory[at] = 1;
  mprotect(memory, size, PROT_READ);
  return munmap(memory, size);
}

static int BeBusy(void) {
  Compute((int)Random(100));
  PauseMs((int)Random(100));
  return CountDescriptors();
}

static int UseSystem(void) {
  static int (*const kSteps[])(void) = {UseDescriptors, ChangeLimit, ChangeMemory, BeBusy};
  return kSteps[Random(sizeof kSteps / sizeof *kSteps)]();
}
const struct Ingredient kSystem = {"system", NULL, UseSystem, NULL};

// Traps are on before the first wait.
static void BeginTrapping(void) { feenableexcept(FE_ALL_EXCEPT); }
// Returns the state that its last call has left, and the flags raised since.
static int ChangeFloats(void) {
  static const int kRoundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const int seen = fegetexcept() << 16 | fetestexcept(FE_ALL_EXCEPT) << 4 | fegetround() >> 10;
  fedisableexcept(FE_ALL_EXCEPT);
  feclearexcept(FE_ALL_EXCEPT);
  fesetround(kRoundings[Random(4)]);
  if (Random(2) != 0) feenableexcept(FE_ALL_EXCEPT);
  return seen;
}
const struct Ingredient kFloats = {"floats", BeginTrapping, ChangeFloats, NULL};

// The hours by which clocks jump, of own_clock.c, if the program has it.
static int ReadClocks(void) {
  struct timespec now = {0, 0};
  struct timespec later = {0, 0};
  struct timeval day = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  PauseMs(2);
  clock_gettime(CLOCK_MONOTONIC, &later);
  gettimeofday(&day, NULL);
  const long hours = (later.tv_sec - now.tv_sec + 1800) / 3600;
  return (int)hours * 2 + (day.tv_sec > 1600000000 && time(NULL) > 1600000000);
}
const struct Ingredient kTimes = {"times", NULL, ReadClocks, NULL};
