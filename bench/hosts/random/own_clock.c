// SPDX-License-Identifier: Apache-2.0
// Clocks that jump by hours forward and backward at each reading, as of a program that is tested with other
// dates: in the program, or in a library that is preloaded into it.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long readings;
static long Jump(void) {
  static const long kHours[] = {0, 3, -2, 1000, 5, -7};
  return kHours[__atomic_fetch_add(&readings, 1, __ATOMIC_RELAXED) % 6] * 3600;
}
int clock_gettime(clockid_t clock, struct timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0) now->tv_sec += Jump();
  return (int)result;
}
int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  const long result = syscall(SYS_gettimeofday, now, zone);
  if (result == 0) now->tv_sec += Jump();
  return (int)result;
}
time_t time(time_t* result) {
  struct timeval now;
  gettimeofday(&now, NULL);
  if (result != NULL) *result = now.tv_sec;
  return now.tv_sec;
}
