// SPDX-License-Identifier: Apache-2.0
// Programs with little memory, and with much of it locked or changed at once.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static void LimitAddressSpace(long more_kib) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) exit(1);
  fclose(file);
  const rlim_t bytes = (rlim_t)(pages * 4096 + more_kib * 1024);
  const struct rlimit limit = {bytes, bytes};
  Checked(setrlimit(RLIMIT_AS, &limit), "setrlimit");
}

static int LittleMemory(long more_kib) {
  LimitAddressSpace(more_kib);
  BeginLoop();
  HangOnce();
  return Done();
}
static int Memory64(void) { return LittleMemory(64); }
static int Memory1024(void) { return LittleMemory(1024); }
static int Memory4096(void) { return LittleMemory(4096); }
static int Memory16384(void) { return LittleMemory(16384); }

static int MemoryRunsOut(void) {
  BeginLoop();
  PauseMs(100);
  LimitAddressSpace(0);
  HangTwice();
  return Done();
}

static int NoThreads(void) {
  const struct rlimit limit = {0, 0};
  Checked(setuid(65534), "setuid");
  Checked(setrlimit(RLIMIT_NPROC, &limit), "setrlimit");
  BeginLoop();
  HangOnce();
  return Done();
}

static int LockMemory(void) {
  Checked(mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
  BeginLoop();
  HangOnce();
  long resident_kib = 0;
  char line[256];
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "VmRSS: %ld", &resident_kib);
  printf("resident more than 16 MiB: %d\n", resident_kib > 16 * 1024);
  return 3;
}

static int SmallFiles(void) {
  const struct rlimit limit = {0, 0};
  BeginLoop();
  Checked(setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
  return HangOnce();
}

static void* HangInSmallStack(void* unused) {
  BeginLoop();
  HangOnce();
  return NULL;
}
static int SmallStack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  Tick(10);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 20 * 1024);
  Checked(-pthread_create(&thread, &attributes, HangInSmallStack, NULL), "pthread_create");
  pthread_join(thread, NULL);
  return Done();
}

// One call that holds the address space's lock for long: a change of very many mappings.
__attribute__((noinline)) static void HangChangingMemory(void) {
  enum { kPages = 60000 };
  char* memory =
      mmap(NULL, (size_t)kPages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) exit(1);
  for (int i = 0; i < kPages; i += 2) mprotect(memory + (size_t)i * 4096, 4096, PROT_NONE);
  for (int i = 0; i < 12; ++i) {
    mprotect(memory, (size_t)kPages * 4096, PROT_READ | PROT_WRITE);
    for (int j = 0; j < kPages; j += 2) mprotect(memory + (size_t)j * 4096, 4096, PROT_NONE);
  }
  munmap(memory, (size_t)kPages * 4096);
}
static int ChangeMemory(void) {
  BeginLoop();
  HangChangingMemory();
  Tick(10);
  return Done();
}

static int TakeAllKeys(void) {
  pthread_key_t key;
  int keys = 0;
  while (pthread_key_create(&key, NULL) == 0) ++keys;
  printf("some keys: %d\n", keys > 0);
  BeginLoop();
  return HangOnce();
}

// On one processor, for the thread and those that it starts.
static void ComeBeforeAllOthers(void) {
  const struct sched_param priority = {.sched_priority = 50};
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(sched_getcpu(), &processors);
  Checked(sched_setaffinity(0, sizeof processors, &processors), "sched_setaffinity");
  Checked(sched_setscheduler(0, SCHED_FIFO, &priority), "sched_setscheduler");
}

// A real-time thread that keeps lagwatch from the only processor: its hang is reported when it is over.
static int RunInRealTime(void) {
  ComeBeforeAllOthers();
  BeginLoop();
  HangTwice();
  printf("policy %d\n", sched_getscheduler(0));
  return 3;
}

// Threads that end beside lagwatch's, which gets no processor while one of them waits awake.
static void* ForkOnce(void* unused) {
  const pid_t child = fork();
  if (child == 0) {
    TickTimes(2, 1);
    exit(0);
  }
  WaitFor(child);
  return unused;
}
static int EndUrgentThreads(void) {
  ComeBeforeAllOthers();
  for (int i = 0; i < 20; ++i) {
    Tick(2);
    pthread_join(StartThread(ForkOnce, NULL), NULL);
  }
  return Done();
}

// A thread with a deadline can start no others.
static int RunWithDeadline(void) {
  struct {
    unsigned size, policy;
    unsigned long flags;
    int nice;
    unsigned priority;
    unsigned long runtime_ns, deadline_ns, period_ns;
  } attributes = {48, 6, 0, 0, 0, 20000000, 40000000, 40000000};
  printf("deadline %ld\n", syscall(SYS_sched_setattr, 0, &attributes, 0));
  BeginLoop();
  return HangTwice();
}

const struct Host kLimitHosts[] = {
    {"run_in_real_time", RunInRealTime, "HangComputing,HangSleeping", "root,nostack"},
    {"end_urgent_threads", EndUrgentThreads, "", "root"},
    {"run_with_deadline", RunWithDeadline, "HangComputing,HangSleeping", "root"},
    {"take_all_keys", TakeAllKeys, "HangComputing", "blind"},
    {"memory_64_kib", Memory64, "HangComputing", "blind"},
    {"memory_1_mib", Memory1024, "HangComputing", "blind"},
    {"memory_4_mib", Memory4096, "HangComputing", "blind"},
    {"memory_16_mib", Memory16384, "HangComputing", "blind"},
    {"memory_runs_out", MemoryRunsOut, "HangComputing,HangSleeping", ""},
    {"no_threads", NoThreads, "HangComputing", "root,blind"},
    {"lock_memory", LockMemory, "HangComputing", ""},
    {"small_files", SmallFiles, "HangComputing", "blind,later"},
    {"small_stack", SmallStack, "HangComputing", "all"},
    {"change_memory", ChangeMemory, "HangChangingMemory", "nostack"},
    {NULL, NULL, NULL, NULL},
};
