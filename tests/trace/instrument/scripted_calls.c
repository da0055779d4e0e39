/* SPDX-License-Identifier: Apache-2.0 */
/* Built with instrumentation, by several compilers. SUBJECT is what its one visible function is called. */
#include "tests/trace/instrument/scripted_calls.h"

#include <x86intrin.h>

#define UNTRACED __attribute__((no_instrument_function, patchable_function_entry(0)))

UNTRACED static inline uint64_t Ticks(void) { return __rdtsc(); }

UNTRACED static inline void Spin(uint64_t ticks) {
  const uint64_t begin = Ticks();
  while (Ticks() - begin < ticks) {
  }
}

UNTRACED static inline void Add(ScriptedTimes* times, int function, uint64_t begin) {
  times->ticks[function] += Ticks() - begin;
  ++times->calls[function];
}

__attribute__((noinline)) static void Leaf(ScriptedTimes* times, uint64_t ticks) {
  const uint64_t begin = Ticks();
  Spin(ticks);
  Add(times, 2, begin);
}

__attribute__((noinline)) static void Branch(ScriptedTimes* times, uint64_t ticks, int depth) {
  const uint64_t begin = Ticks();
  Spin(ticks / 4);
  if (depth == 0) {
    Leaf(times, ticks / 4);
    Leaf(times, ticks / 4);
  }
  Spin(ticks / 4);
  Add(times, 1, begin);
}

__attribute__((noinline)) static void Root(ScriptedTimes* times, uint64_t ticks) {
  const uint64_t begin = Ticks();
  Branch(times, ticks / 2, 0);
  Branch(times, ticks / 2, 1);
  Add(times, 0, begin);
}

UNTRACED void SUBJECT(int rounds, uint64_t ticks_a_round, ScriptedTimes* times) {
  times->functions[0] = (uint64_t)&Root;
  times->functions[1] = (uint64_t)&Branch;
  times->functions[2] = (uint64_t)&Leaf;
  for (int i = 0; i < rounds; ++i) Root(times, ticks_a_round);
}
