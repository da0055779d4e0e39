// SPDX-License-Identifier: Apache-2.0
// Records which functions a program's threads enter and leave: the instrumentation that a compiler put there
// (cyg_profile.cc), the one that is patched in at run time (patch/) and parts that the program names itself
// all end here. There is one recording in a process at a time, because hooks have no argument to find it by.
#pragma once

#include <cstdint>

#include "trace/block_pool.h"

namespace lagwatch::trace {

enum class CallClock : uint32_t {
  kPrecise,  // base::ReadTicks() at each event
  kCoarse,   // the same, as a ticker thread read it up to 5 ms ago
};

struct CallStats {
  uint64_t events_in_handlers = 0;    // not recorded: a signal handler's, which had interrupted the recorder
  uint64_t events_without_block = 0;  // not recorded: every block was in use
  uint64_t blocks_abandoned = 0;  // a handler jumped out of the recorder, so its block is never used again
};

// Starts recording on all threads. `pool` is borrowed for ever, since the last event of the last thread
// cannot be known: it must stay mapped, and must not be started again. Returns false, and changes nothing, if
// a recording is active or if there is no thread for the ticker. A child of fork() does not record until it
// starts a recording of its own. Context: background.
bool StartCalls(BlockPoolHeader* pool, CallClock clock);
// Stops recording; threads stop at their next event. The records stay in the pool, in blocks of which some
// are open until their thread ends or records again. Context: background.
void StopCalls();
// A word that is 0 exactly while there is no recording, so that callers can look without a call.
const uint64_t* CallSwitch();
// Since the process began. Context: any.
CallStats CallRecorderStats();

// Records that the calling thread enters or leaves a part that it names (the address of a string with static
// storage). Wait-free, except for the claim of a block every 2,000 events. Calls of a signal handler that
// interrupts one of these are not recorded. Context: hot, signal.
void RecordNameBegin(const char* name);
void RecordNameEnd(const char* name);

}  // namespace lagwatch::trace
