// SPDX-License-Identifier: Apache-2.0
// The thunks that stand in for return addresses (return_thunks.h), as the code that hands them out sees them.
// The fast paths are inline; the slow ones are in thunk_pool_x86_64.cc. All that includes this runs with a
// function's arguments or results in the vector registers, so it is built without those (see CMakeLists.txt).
// Context: hot.
#pragma once

#include <cstdint>

#include "trace/instrument/call_writer.h"
#include "trace/instrument/return_thunks.h"

// The assembly code of trampolines_x86_64.cc.
extern "C" {
// The original return addresses, by thunk.
LAGWATCH_HIDDEN extern uint64_t lagwatch_originals[];
LAGWATCH_HIDDEN extern unsigned char lagwatch_thunks[];
// Calls `function` with the first four arguments, and keeps all vector registers.
LAGWATCH_HIDDEN void lagwatch_call_saved(uint64_t, uint64_t, uint64_t, uint64_t,
                                         void (*function)(uint64_t, uint64_t, uint64_t, uint64_t));
}

namespace lagwatch::trace {

struct ProbeSite;

inline constexpr uint64_t kThunkBytes = 8;
inline constexpr uint64_t kJumpInThunkBytes = 5;
inline constexpr uint32_t kThunksInLot = 8;
// The first thunk is never used: unwinders look up the address before the return address.
inline constexpr uint32_t kNoThunk = 0;

enum class ThunkState : uint32_t {
  kFree,      // in its owner's list, or in none
  kInUse,     // of a call under way, or of one that was abandoned
  kReturned,  // free, but the call ended on another thread: a fiber had moved
  kChained,   // of a call that ended in a jump to another function, whose thunk has it as `outer`
};

struct ThreadThunks;

// Thread safety: for its owner, except `state`, and for the thread on which the call ends.
struct Thunk {
  uint64_t function;
  uint64_t slot;  // where the return address was
  ThreadThunks* owner;
  uint32_t next;   // free one
  uint32_t state;  // a ThunkState
  // Of functions with probes, and of those that such functions jumped to; else zero, as in all free ones.
  const ProbeSite* site;
  uint64_t entered_ticks;
  uint32_t outer;      // kChained, or kNoThunk
  uint32_t depth;      // of the chain that begins here
  uint32_t delivered;  // the probes to which its entry was delivered, as bits
  uint32_t next_lot;   // of the owner's; of a lot's first

  bool IsRecordersAlone() const { return site == nullptr && outer == kNoThunk; }
};
LAGWATCH_HIDDEN extern Thunk g_thunks[kMaxThunks];

struct ThreadThunks {
  uint32_t free_head = kNoThunk;
  uint32_t lot_head = kNoThunk;  // the first thunk of the first of its lots
  uint32_t lot_count = 0;
  uint32_t calls_till_look = 0;
  uint32_t calls_while_busy = 0;
  uint32_t caller_range = 0;  // the last that was found
  uint64_t handler_mark = 0;  // the address of the mark (HandlerMark()) of what calls handlers; 0: none
  bool is_busy = false;       // a handler that finds it so leaves everything alone
  bool has_ended = false;
  bool has_key = false;
  bool is_left_out = false;  // of probes
  bool has_strays = false;   // free thunks that are in no list, and that none takes
  bool has_guessed = false;  // RecoverThunks() has said yes: interrupted code may take them
  bool may_be_child = false;  // it has called vfork(2), in which parent and child have one memory
};
LAGWATCH_HIDDEN extern constinit thread_local ThreadThunks t_thunks
    __attribute__((tls_model("initial-exec")));

// Code that calls handlers keeps this at `address`, in its frame. When something else is there, a signal
// handler has jumped out of it.
LAGWATCH_UNTRACED inline uint64_t HandlerMark(uint64_t address) { return address ^ 0x6c61677761746368; }

LAGWATCH_UNTRACED inline uint64_t AddressOfThunk(uint32_t thunk) {
  return reinterpret_cast<uint64_t>(lagwatch_thunks) + thunk * kThunkBytes;
}

// kNoThunk when `address` is none's.
LAGWATCH_UNTRACED inline uint32_t ThunkAt(uint64_t address) {
  const uint64_t offset = address - reinterpret_cast<uint64_t>(lagwatch_thunks);
  return offset < kMaxThunks * kThunkBytes ? static_cast<uint32_t>(offset / kThunkBytes) : kNoThunk;
}

LAGWATCH_UNTRACED inline void SetThunkState(uint32_t thunk, ThunkState state) {
  __atomic_store_n(&g_thunks[thunk].state, static_cast<uint32_t>(state),
                   __ATOMIC_RELEASE);  // pairs with the owner's look
}

LAGWATCH_UNTRACED inline void FreeThunk(ThreadThunks* thunks, uint32_t thunk) {
  SetThunkState(thunk, ThunkState::kFree);
  g_thunks[thunk].slot = 0;
  g_thunks[thunk].next = thunks->free_head;
  thunks->free_head = thunk;
}

// Of a call that has ended; a signal handler leaves the list of the interrupted code alone.
LAGWATCH_UNTRACED inline void ReleaseThunk(ThreadThunks* thunks, uint32_t thunk, bool is_interrupting) {
  if (g_thunks[thunk].owner == thunks && !is_interrupting)
    FreeThunk(thunks, thunk);
  else
    SetThunkState(thunk, ThunkState::kReturned);
}

// Finds free thunks for a thread that has none: abandoned ones, or more.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED void FindThunks(ThreadThunks* thunks);

// One for a call that begins; kNoThunk when too many are under way.
LAGWATCH_UNTRACED inline uint32_t TakeThunk(ThreadThunks* thunks) {
  if (thunks->free_head == kNoThunk) [[unlikely]]
    FindThunks(thunks);
  const uint32_t thunk = thunks->free_head;
  if (thunk == kNoThunk) return thunk;
  thunks->free_head = g_thunks[thunk].next;
  SetThunkState(thunk, ThunkState::kInUse);
  return thunk;
}

// Puts the thunk into the place of the return address, `original`.
LAGWATCH_UNTRACED inline void NoteReturn(uint32_t thunk, uint64_t function, uint64_t* slot,
                                         uint64_t original) {
  g_thunks[thunk].function = function;
  g_thunks[thunk].slot = reinterpret_cast<uint64_t>(slot);
  __atomic_store_n(&lagwatch_originals[thunk], original,
                   __ATOMIC_RELAXED);  // handlers and this thread read it
}
LAGWATCH_UNTRACED inline void ReplaceReturn(uint32_t thunk, uint64_t* slot) {
  FenceHandlers();
  __atomic_store_n(slot, AddressOfThunk(thunk), __ATOMIC_RELAXED);  // for this thread
}

// Whether a handler has jumped out of these functions, rather than interrupted them. If the answer is wrong,
// nothing is used twice: the free ones are left to the interrupted code.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED bool RecoverThunks(ThreadThunks* thunks);

// Counts a call whose end will not be noticed.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED void CountUnnoticedReturn();

// Records that a call to `function` begins or ends, if calls are recorded.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED void RecordThunkCall(uint64_t function, uint64_t flags);

// Takes a thunk for a function that was jumped to at the end of one with probes, whose thunk, `outer`, is in
// `slot`. kNoThunk: none is free, or no more should be chained.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED uint32_t ChainThunk(ThreadThunks* thunks, uint32_t outer, uint64_t function,
                                                      uint64_t* slot);

// Ends a call for whose thunk IsRecordersAlone() is false. `results`: rax and, 16 bytes on, rdx; null when it
// was left by an exception. Returns the original return address.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED uint64_t EndProbedCall(ThreadThunks* thunks, uint32_t thunk,
                                                         const uint64_t* results);

}  // namespace lagwatch::trace
