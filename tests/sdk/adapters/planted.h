/* SPDX-License-Identifier: Apache-2.0 */
/* Hangs that a program with a watched loop has planted: each is printed as a line, and has a function of its
 * own. */
#ifndef TESTS_SDK_ADAPTERS_PLANTED_H_
#define TESTS_SDK_ADAPTERS_PLANTED_H_

#include <lagwatch/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef PLANTED_HANG_MS
#define PLANTED_HANG_MS 600
#endif
enum { PLANTED_MS = PLANTED_HANG_MS };

static inline void planted_sleep_ms(int ms) {
  struct timespec time;
  time.tv_sec = ms / 1000;
  time.tv_nsec = (long)(ms % 1000) * 1000000;
  nanosleep(&time, NULL);
}

/* A line "FUNCTION TAG"; "-": none, "*": any. */
static inline void planted_tell(const char* function, const char* tag) {
  printf("%s %s\n", function, tag);
  fflush(stdout);
}

/* Defines a function that hangs. */
#define PLANTED(name, tag)                    \
  __attribute__((noinline)) void name(void);  \
  __attribute__((noinline)) void name(void) { \
    planted_tell(#name, tag);                 \
    planted_sleep_ms(PLANTED_MS);             \
    __asm__ volatile("");                     \
  }

/* The spool is the program's first argument. */
static inline void planted_start(int count, char** arguments) {
  lw_options options;
  lw_options_init(&options);
  options.app = "planted";
  options.spool_directory = count > 1 ? arguments[1] : NULL;
  options.threshold_ms = 300;
  options.anr_threshold_ms = 0;
  if (lw_start(&options) != LW_OK) {
    fprintf(stderr, "%s\n", lw_why_off());
    exit(2);
  }
}

#endif /* TESTS_SDK_ADAPTERS_PLANTED_H_ */
