// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/host.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void Tick(int ms) { poll(NULL, 0, ms); }

void TickTimes(int count, int ms) {
  for (int i = 0; i < count; ++i) Tick(ms);
}

void BeginLoop(void) { TickTimes(2, 10); }

void PauseMs(int ms) {
  struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
  while (nanosleep(&left, &left) != 0) {
  }
}

long NowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

struct timespec After(clockid_t clock, int ms) {
  struct timespec then;
  clock_gettime(clock, &then);
  then.tv_nsec += ms * 1000000L;
  then.tv_sec += then.tv_nsec / 1000000000L;
  then.tv_nsec %= 1000000000L;
  return then;
}

__attribute__((noinline)) void HangComputing(void) {
  volatile unsigned long sum = 0;
  for (const long end_ms = NowMs() + 700; NowMs() < end_ms;) {
    for (int i = 0; i < 100000; ++i) sum += (unsigned long)i;
  }
}

__attribute__((noinline)) void HangSleeping(void) {
  PauseMs(700);
  __asm__ volatile("");  // no tail call: the function stays in the stack
}

int HangOnce(void) {
  HangComputing();
  Tick(10);
  return 3;
}

int HangTwice(void) {
  HangOnce();
  HangSleeping();
  Tick(10);
  return 3;
}

int Done(void) {
  puts("done");
  return 3;
}

static int ExitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return ExitCode(status);
}

int WaitInLoop(pid_t child, int ms) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) Tick(ms);
  return ExitCode(status);
}

char* GuardedMemory(size_t size) {
  const size_t pages = (size + 4095) & ~(size_t)4095;
  char* memory = mmap(NULL, pages + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + 4096, pages, PROT_READ | PROT_WRITE) != 0) exit(1);
  return memory + 4096 + pages - size;
}

int Checked(int result, const char* what) {
  if (result >= 0) return result;
  perror(what);
  exit(70);
}

int CountDescriptors(void) {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == NULL) return -1;
  int count = 0;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count - 3;  // ".", ".." and the directory itself
}

unsigned long StartThread(void* (*run)(void*), void* argument) {
  pthread_t thread;
  Checked(-pthread_create(&thread, NULL, run, argument), "pthread_create");
  return thread;
}

static const struct Host* const kKinds[] = {
    kCancellationHosts, kDescriptorHosts, kEndingHosts,   kFaultHosts,  kFloatHosts,
    kForkHosts,         kHandlerHosts,    kIdentityHosts, kIdleHosts,   kLimitHosts,
    kLoaderHosts,       kSeccompHosts,    kSignalHosts,   kThreadHosts,
};

int main(int argument_count, char** arguments) {
  setvbuf(stdout, NULL, _IONBF, 0);
  const char* wanted = argument_count > 1 ? arguments[1] : "";
  for (size_t kind = 0; kind < sizeof kKinds / sizeof *kKinds; ++kind) {
    for (const struct Host* host = kKinds[kind]; host->name != NULL; ++host) {
      if (strcmp(wanted, "--list") == 0) printf("%s\t%s\t%s\n", host->name, host->hangs, host->traits);
      if (strcmp(wanted, host->name) == 0) return host->run();
    }
  }
  if (strcmp(wanted, "--list") == 0) return 0;
  fprintf(stderr, "usage: %s --list | HOST\n", arguments[0]);
  return 64;
}
