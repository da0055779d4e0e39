// SPDX-License-Identifier: Apache-2.0
// A program that starts, forks or ends, for startup.py. It prints a number where one is measured inside of it.
//
//   bench_startup nothing        ends at once
//   bench_startup fork COUNT     forks so often, and prints the median of fork(), in µs of its own processor
//   time bench_startup exit           waits as a loop does, prints the monotonic time in ns, and calls exit()
//   bench_startup start SPOOL    starts lagwatch, where it links it, and ends
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef STARTS_LAGWATCH
#include <lagwatch/c.h>
#endif

static long long Now(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// From its first wait on, it is watched.
static void Loop(void) {
  for (int i = 0; i < 5; ++i) poll(NULL, 0, 2);
}

static int Compare(const void* a, const void* b) {
  const long long x = *(const long long*)a, y = *(const long long*)b;
  return (x > y) - (x < y);
}

static void Fork(int count) {
  long long* took_ns = calloc(count, sizeof *took_ns);
  for (int i = 0; i < count; ++i) {
    const long long begin_ns = Now(CLOCK_THREAD_CPUTIME_ID);
    const pid_t child = fork();
    if (child == 0) _exit(0);
    took_ns[i] = Now(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    waitpid(child, NULL, 0);
  }
  qsort(took_ns, count, sizeof *took_ns, &Compare);
  printf("%.1f\n", took_ns[count / 2] / 1e3);
}

static void Start(const char* spool) {
#ifdef STARTS_LAGWATCH
  lw_options options;
  lw_options_init(&options);
  options.spool_directory = spool;
  lw_start(&options);
#else
  (void)spool;
#endif
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (strcmp(argv[1], "fork") == 0 && argc > 2) {
    Loop();
    Fork(atoi(argv[2]));
  } else if (strcmp(argv[1], "exit") == 0) {
    Loop();
    printf("%lld\n", Now(CLOCK_MONOTONIC));
    fflush(stdout);
    exit(0);
  } else if (strcmp(argv[1], "start") == 0 && argc > 2) {
    Start(argv[2]);
  }
  return 0;
}
