/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what a dispatch of a loop costs its thread. The program's arguments are "bare" or "watched", or
 * "bare-threads" or "watched-threads", which are beside a thread that sleeps, and a folder for the spool; it
 * prints the least processor time of a dispatch in several rounds, in nanoseconds. */
#ifndef BENCH_ADAPTERS_ROUNDS_H_
#define BENCH_ADAPTERS_ROUNDS_H_

#include <lagwatch/c.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 7, DISPATCHES = 100000 };

static int rounds_is_watched;

static inline void* rounds_sleep(void* argument) {
  for (;;) pause();
  return argument;
}

/* Starts the monitor; returns whether the loop is to be watched. */
static inline int rounds_start(char** arguments) {
  lw_options options;
  pthread_t thread;
  if (strstr(arguments[1], "-threads") != NULL) pthread_create(&thread, NULL, &rounds_sleep, NULL);
  lw_options_init(&options);
  options.app = "rounds";
  options.spool_directory = arguments[2];
  rounds_is_watched = strncmp(arguments[1], "watched", 7) == 0;
  if (rounds_is_watched) lw_start(&options);
  return rounds_is_watched;
}

static inline double rounds_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* `run` makes so many dispatches. */
static inline int rounds_measure(void (*run)(long dispatches)) {
  double least_ns = 1e18;
  run(DISPATCHES / 10);
  for (int i = 0; i < ROUNDS; ++i) {
    const double begin_ns = rounds_now_ns();
    run(DISPATCHES);
    const double each_ns = (rounds_now_ns() - begin_ns) / DISPATCHES;
    if (each_ns < least_ns) least_ns = each_ns;
  }
  printf("%.1f\n", least_ns);
  if (rounds_is_watched) lw_stop(0);
  return 0;
}

#endif /* BENCH_ADAPTERS_ROUNDS_H_ */
