/* SPDX-License-Identifier: Apache-2.0
 * What tracers are compared on: a function that does next to nothing, called from a loop. Prints nanoseconds
 * per call, of the quietest of many rounds: what else the machine does is not the question. Built in several ways; see bench/CMakeLists.txt. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRounds = 20 };

#define UNTRACED __attribute__((no_instrument_function, noinline))

__attribute__((noinline)) unsigned Leaf(unsigned number) {
  __asm__ volatile("" : "+r"(number));
  return number * 2654435761U + 1;
}

UNTRACED static double NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

UNTRACED static double RoundNs(long calls, unsigned* number) {
  const double begin_ns = NowNs();
  for (long i = 0; i < calls; ++i) *number = Leaf(*number);
  return (NowNs() - begin_ns) / (double)calls;
}

UNTRACED int main(int argc, char** argv) {
  const long calls = argc > 1 ? atol(argv[1]) : 1000000;
  unsigned number = 1;
  double best_ns = RoundNs(calls / kRounds + 1, &number);
  for (int i = 0; i < kRounds; ++i) {
    const double round_ns = RoundNs(calls / kRounds + 1, &number);
    if (round_ns < best_ns) best_ns = round_ns;
  }
  printf("%.4f %u\n", best_ns, number);
  return 0;
}
