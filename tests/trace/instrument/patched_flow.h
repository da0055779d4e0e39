// SPDX-License-Identifier: Apache-2.0
// Ways for a function to end, or not to, built with room to be patched, by several compilers.
#pragma once

#include <cstdint>

namespace lagwatch::trace {

struct PatchedFlow {
  // Throws through `depth` frames and catches; returns how many destructors ran.
  int (*catch_from)(int depth);
  // The same by longjmp; returns 1.
  int (*jump_from)(int depth);
  // Ends the thread from `depth` frames down; adds 1 to `*destructors` in each.
  void (*end_thread_from)(int depth, int* destructors);
  // By calls of which each is its caller's last.
  uint64_t (*tail)(uint64_t rounds, uint64_t sum);
  // Calls itself; returns depth.
  int (*recurse)(int depth);
  // All kinds of arguments and results; returns whether they arrived.
  bool (*pass_all)();
  // Two stacks in turns; returns how often they changed.
  int (*switch_stacks)(int rounds);
  // Whether a stack trace from `depth` frames down finds the caller of this.
  bool (*is_found_by_backtrace)(int depth, const void* function);
  // Sleeps in `depth` frames until `*is_done`.
  void (*sleep_in)(int depth, const volatile bool* is_done);
  // Next to nothing, for counting.
  int (*leaf)(int number);
};

const PatchedFlow& FirstPatchedFlow();
const PatchedFlow& SecondPatchedFlow();
const PatchedFlow& ThirdPatchedFlow();
// The same without room.
const PatchedFlow& PlainFlow();

}  // namespace lagwatch::trace
