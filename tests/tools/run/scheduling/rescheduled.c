/* SPDX-License-Identifier: Apache-2.0 */
/* An unprepared program with a loop whose scheduling changes, and which then freezes:
 *
 *   rescheduled HOW FREEZE_MS
 *
 * none, nice (setpriority by the thread itself), minus (nice() to -1; it exits with 3 if it may not), batch
 * (pthread_setschedparam by another thread), processor (sched_setaffinity to one), attributes (sched_setattr
 * as a system call), outside (it prints its id and waits for a signal). */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

__attribute__((noinline)) static void FreezeHere(long long ms) {
  const long long end_ns = now_ns() + ms * 1000000LL;
  while (now_ns() < end_ns) {
  }
}

static void Turns(int count) {
  for (int i = 0; i < count; ++i) poll(NULL, 0, 20);
}

static pthread_t g_main;
static void* ChangeFromOutside(void* unused) {
  const struct sched_param none = {0};
  if (pthread_setschedparam(g_main, SCHED_BATCH, &none) != 0) abort();
  return unused;
}

__attribute__((noinline)) static void Change(const char* how) {
  if (strcmp(how, "nice") == 0 && setpriority(PRIO_PROCESS, 0, 19) != 0) abort();
  if (strcmp(how, "minus") == 0) {
    if (setpriority(PRIO_PROCESS, 0, -2) != 0) exit(3);
    errno = EDOM;
    if (nice(1) != -1 || errno != EDOM) abort();
  }
  if (strcmp(how, "batch") == 0) {
    pthread_t thread;
    g_main = pthread_self();
    if (pthread_create(&thread, NULL, ChangeFromOutside, NULL) != 0) abort();
    pthread_join(thread, NULL);
  }
  if (strcmp(how, "processor") == 0) {
    cpu_set_t before, one;
    int first = 0;
    sched_getaffinity(0, sizeof before, &before);
    while (!CPU_ISSET(first, &before)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) abort();
  }
  if (strcmp(how, "attributes") == 0) {
    struct {
      uint32_t size, policy;
      uint64_t flags;
      int32_t nice;
      uint32_t priority;
      uint64_t runtime, deadline, period;
    } attributes = {.size = 48, .policy = SCHED_BATCH, .nice = getpriority(PRIO_PROCESS, 0)};
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0) abort();
  }
  if (strcmp(how, "outside") == 0) {
    sigset_t set;
    int taken;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("%d\n", getpid());
    fflush(stdout);
    sigwait(&set, &taken);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Turns(70); /* more than a second: then its scheduling is known */
  Change(argv[1]);
  Turns(3);
  FreezeHere(atoll(argv[2]));
  Turns(3);
  return 0;
}
