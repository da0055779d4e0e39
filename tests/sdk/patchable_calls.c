// SPDX-License-Identifier: Apache-2.0
// Functions that have room for a call (-fpatchable-function-entry), of a program that watches itself.
#include "tests/sdk/trace/traced_calls.h"

__attribute__((noinline)) static void patchable_part(void (*work)(void*), void* context) {
  work(context);
  __asm__ volatile("" ::: "memory");
}

void patchable_work(void (*work)(void*), void* context) {
  patchable_part(work, context);
  __asm__ volatile("" ::: "memory");
}
