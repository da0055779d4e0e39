// SPDX-License-Identifier: Apache-2.0
// A loop with one long dispatch, in a process that leaves little to capture with: its argument says why.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static void Ignore(int signal_number) { (void)signal_number; }

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void Burn(double duration_s) {
  const double end_s = Now() + duration_s;
  while (Now() < end_s) {
  }
}

// With memory below it that may not be touched.
static int InstallSmallSignalStack(void) {
  enum { kGuardBytes = 65536, kMappedBytes = 131072, kStackBytes = 2048 };
  char* memory = mmap(NULL, kMappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) return 0;
  const stack_t stack = {.ss_sp = memory + kGuardBytes, .ss_size = kStackBytes};
  return sigaltstack(&stack, NULL) == 0;
}

static void HandleAllSignals(void) {
  for (int number = 1; number <= SIGRTMAX; ++number) signal(number, Ignore);
}

static void BlockAllSignals(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static int RunLoop(void) {
  for (int i = 0; i < 5; ++i) poll(NULL, 0, 20);
  Burn(0.6);
  for (int i = 0; i < 5; ++i) poll(NULL, 0, 20);
  puts("done");
  return fflush(stdout) == 0 ? 3 : 4;
}

static void* RunAfterMain(void* unused) {
  (void)unused;
  exit(RunLoop());
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  if (strcmp(kind, "small-signal-stack") == 0 && !InstallSmallSignalStack()) return 77;
  if (strcmp(kind, "all-signals-handled") == 0) HandleAllSignals();
  if (strcmp(kind, "all-signals-blocked") == 0) BlockAllSignals();
  if (strcmp(kind, "main-ended") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, RunAfterMain, NULL) != 0) return 4;
    pthread_exit(NULL);
  }
  return RunLoop();
}
