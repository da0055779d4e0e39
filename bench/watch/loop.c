/* SPDX-License-Identifier: Apache-2.0
 * Loops without a run time. Usage:
 *   loop FLAG        polls every 50 ms; when the file FLAG appears, does for 1.5 s what its first word says,
 *                    and removes it
 *   loop busy        a saturated loop: each of its turns computes for 5 ms, and its wait never sleeps
 *   loop threads N   N threads that each poll every 100 ms
 *   loop calls       waits for 3 s, then prints how many ns a wait without sleep takes, and getppid(2)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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
static void RunChild(void (*body)(int), int argument) {
  const pid_t child = fork();
  if (child == 0) {
    body(argument);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}
static void Sleep(int unused) {
  (void)unused;
  const struct timespec time = {1, 500000000};
  nanosleep(&time, NULL);
}
static void KeepFile(int pipe_end) {
  const int file = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  flock(file, LOCK_EX);
  if (write(pipe_end, "x", 1) != 1) return;
  Sleep(0);
}

static void Freeze(const char* how) {
  int ends[2];
  char byte;
  if (strcmp(how, "sleep") == 0) {
    Sleep(0);
  } else if (strcmp(how, "compute") == 0) {
    Compute(1.5);
  } else if (strcmp(how, "child") == 0) {
    RunChild(Sleep, 0);
  } else if (strcmp(how, "lock") == 0 && pipe(ends) == 0) {
    const pid_t keeper = fork();
    if (keeper == 0) {
      KeepFile(ends[1]);
      _exit(0);
    }
    if (read(ends[0], &byte, 1) != 1) exit(1);
    const int file = open("lock", O_RDWR | O_CLOEXEC);
    flock(file, LOCK_EX);
    close(file);
    waitpid(keeper, NULL, 0);
  }
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
  for (;;) {
    struct pollfd waited[2] = {{.fd = loop[0], .events = POLLIN}, {.fd = STDIN_FILENO, .events = 0}};
    poll(waited, 2, 50);
    FILE* flag = fopen(words[1], "r");
    char how[32] = "";
    if (flag == NULL) continue;
    const int is_read = fscanf(flag, "%31s", how);
    fclose(flag);
    if (is_read == 1) Freeze(how);
    if (is_read == 1) unlink(words[1]);
  }
}
