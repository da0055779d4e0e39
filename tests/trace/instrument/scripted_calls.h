// SPDX-License-Identifier: Apache-2.0
// A program whose calls' times are known, because it looks at the clock itself.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kScriptedFunctions = 3 };

typedef struct ScriptedTimes {
  uint64_t functions[kScriptedFunctions];  // addresses
  uint64_t ticks[kScriptedFunctions];      // in them and what they call, in all
  uint64_t calls[kScriptedFunctions];
} ScriptedTimes;

// Runs the script, `rounds` times; a round takes about `ticks_a_round`. Returns what it measured.
void hooked_first(int rounds, uint64_t ticks_a_round, ScriptedTimes* times);
void hooked_second(int rounds, uint64_t ticks_a_round, ScriptedTimes* times);
void patched_first(int rounds, uint64_t ticks_a_round, ScriptedTimes* times);
void patched_second(int rounds, uint64_t ticks_a_round, ScriptedTimes* times);

#ifdef __cplusplus
}
#endif
