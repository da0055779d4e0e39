// SPDX-License-Identifier: Apache-2.0
// Functions that a compiler instrumented (-finstrument-functions), of a program that watches itself.
#include "tests/sdk/trace/traced_calls.h"

__attribute__((noinline)) static void hooked_part(void (*work)(void*), void* context) {
  work(context);
  __asm__ volatile("" ::: "memory");
}

void hooked_work(void (*work)(void*), void* context) {
  hooked_part(work, context);
  __asm__ volatile("" ::: "memory");
}
