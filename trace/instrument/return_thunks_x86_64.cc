// SPDX-License-Identifier: Apache-2.0
// Built without vector registers (see CMakeLists.txt): the arguments and results of patched functions are in
// them while this runs.
#include "trace/instrument/return_thunks.h"
#include "trace/instrument/thunk_pool.h"

// Called by the assembly code of trampolines_x86_64.cc.
extern "C" {
// `slot` holds the return address of `function`, which begins.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED void lagwatch_on_entry(uint64_t function, uint64_t* slot);
// Returns the original return address of the thunk's function, whose results are in `registers`: rax and, 16
// bytes on, rdx.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED uint64_t lagwatch_on_return(uint64_t thunk_address,
                                                              const uint64_t* registers);
}

namespace lagwatch::trace {
namespace {

LAGWATCH_UNTRACED void RecordSlowlySaved(uint64_t address, uint64_t flags, uint64_t state, uint64_t ticks) {
  lagwatch_call_saved(address, flags, state, ticks, &RecordSlowly);
}

// A call at the end of another function, whose thunk is in the slot.
LAGWATCH_UNTRACED void EnterAtEnd(ThreadThunks* thunks, uint32_t outer, uint64_t function, uint64_t* slot) {
  if (g_thunks[outer].IsRecordersAlone()) {
    // Takes its place.
    RecordCall<&RecordSlowlySaved>(g_thunks[outer].function, 0);
    g_thunks[outer].function = function;
    RecordCall<&RecordSlowlySaved>(function, CallEventWord::kIsEnter);
  } else if (const uint32_t thunk = ChainThunk(thunks, outer, function, slot); thunk != kNoThunk) {
    RecordCall<&RecordSlowlySaved>(function, CallEventWord::kIsEnter);
    ReplaceReturn(thunk, slot);
  } else {
    CountUnnoticedReturn();
  }
}

}  // namespace
}  // namespace lagwatch::trace

void lagwatch_on_entry(uint64_t function, uint64_t* slot) {
  using namespace lagwatch::trace;
  if (__atomic_load_n(&g_call_state, __ATOMIC_RELAXED) == 0) return;  // late by an event is early enough
  ThreadThunks& thunks = t_thunks;
  if (thunks.is_busy && (thunks.handler_mark != 0 || !RecoverThunks(&thunks))) return;
  thunks.is_busy = true;
  FenceHandlers();
  thunks.calls_while_busy = 0;
  const uint64_t original = *slot;
  const uint32_t outer = ThunkAt(original);
  if (outer != kNoThunk) {
    EnterAtEnd(&thunks, outer, function, slot);
  } else if (const uint32_t thunk = TakeThunk(&thunks); thunk != kNoThunk) {
    NoteReturn(thunk, function, slot, original);
    RecordCall<&RecordSlowlySaved>(function, CallEventWord::kIsEnter);
    ReplaceReturn(thunk, slot);
  } else {
    CountUnnoticedReturn();
  }
  FenceHandlers();
  thunks.is_busy = false;
}

uint64_t lagwatch_on_return(uint64_t thunk_address, [[maybe_unused]] const uint64_t* registers) {
  using namespace lagwatch::trace;
  ThreadThunks& thunks = t_thunks;
  const uint32_t thunk = ThunkAt(thunk_address);
  if (!g_thunks[thunk].IsRecordersAlone()) return EndProbedCall(&thunks, thunk, registers);
  const bool was_busy = thunks.is_busy;
  thunks.is_busy = true;
  FenceHandlers();
  const uint64_t original = lagwatch_originals[thunk];
  RecordCall<&RecordSlowlySaved>(g_thunks[thunk].function, 0);
  ReleaseThunk(&thunks, thunk, was_busy);
  FenceHandlers();
  thunks.is_busy = was_busy;
  return original;
}
