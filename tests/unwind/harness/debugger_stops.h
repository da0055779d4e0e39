// SPDX-License-Identifier: Apache-2.0
// Interrupts this thread now and then, and hands what the unwinder says of the interrupted code to a debugger
// that has a breakpoint at OracleStop(): gdb_oracle.py.
#pragma once

#include <cstdint>

namespace lagwatch::unwind_test {

// Takes SIGALRM.
void BeginStops();
// True after as many stops as the debugger wants: the environment's ZOO_STOPS, or 100.
bool HasStoppedEnough();

}  // namespace lagwatch::unwind_test

extern "C" {
// Our stack at the stop: addresses as in stack::Frame, with the modules' load bias.
extern uint64_t g_oracle_frames[];
extern uint32_t g_oracle_frame_count;
extern uint32_t g_oracle_is_complete;
void OracleStop();
}
