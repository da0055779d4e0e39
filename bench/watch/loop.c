/* SPDX-License-Identifier: Apache-2.0
 * Loops without a run time. Usage:
 *   loop busy        a saturated loop: each of its turns computes for 5 ms, and its wait never sleeps
 *   loop threads N   N threads that each poll every 100 ms
 *   loop calls       waits for 3 s, then prints how many ns a wait without sleep takes, and getppid(2)
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long turns;

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
static void Compute(double seconds) {
  const double end = Now() + seconds;
  while (Now() < end) ++turns;
}
static void* PollForEver(void* unused) {
  for (;;) {
    poll(NULL, 0, 100);
    ++turns;
  }
  return unused;
}

static void MeasureCalls(void) {
  const int count = 1000000;  /* long enough to be looked at */
  const int waited = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event;
  for (const double end = Now() + 3; Now() < end;) epoll_wait(waited, &event, 1, 20);
  double begin = Now();
  for (int i = 0; i < count; ++i) epoll_wait(waited, &event, 1, 0);
  printf("%.0f ", (Now() - begin) * 1e9 / count);
  begin = Now();
  for (int i = 0; i < count; ++i) syscall(SYS_getppid);
  printf("%.0f\n", (Now() - begin) * 1e9 / count);
}

int main(int count, char** words) {
  if (count == 3 && strcmp(words[1], "threads") == 0) {
    for (int i = 1; i < atoi(words[2]); ++i) {
      pthread_t thread;
      if (pthread_create(&thread, NULL, PollForEver, NULL) != 0) return 1;
    }
    PollForEver(NULL);
  }
  if (count == 2 && strcmp(words[1], "calls") == 0) {
    MeasureCalls();
    return 0;
  }
  int loop[2];
  if (count != 2 || pipe(loop) != 0) return 2;
  if (strcmp(words[1], "busy") == 0 && write(loop[1], "x", 1) == 1) {
    struct pollfd ready = {.fd = loop[0], .events = POLLIN};
    for (;;) {
      poll(&ready, 1, 1000);
      Compute(0.005);
    }
  }
  return 2;
}
