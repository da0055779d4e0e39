// SPDX-License-Identifier: Apache-2.0
// Built without vector registers (see CMakeLists.txt): the arguments and results of patched functions are in
// them while this runs.
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/process/safe_memory.h"
#include "base/process/thread_end_key.h"
#include "stack/signal/replaced_returns.h"
#include "trace/instrument/call_writer.h"
#include "trace/instrument/return_thunks.h"

// The assembly code of trampolines_x86_64.cc, and the functions that it calls.
extern "C" {
// The original return addresses, by thunk.
LAGWATCH_HIDDEN extern uint64_t lagwatch_originals[];
LAGWATCH_HIDDEN extern unsigned char lagwatch_thunks[];
// The target of the thunks' calls: continues at the original return address.
LAGWATCH_HIDDEN void lagwatch_return();
// Calls `function` with the first four arguments, and keeps all vector registers.
LAGWATCH_HIDDEN void lagwatch_call_saved(uint64_t, uint64_t, uint64_t, uint64_t,
                                         void (*function)(uint64_t, uint64_t, uint64_t, uint64_t));
// Called by the assembly code. lagwatch_on_entry: `slot` holds the return address of `function`, which
// begins. lagwatch_on_return: returns the original return address of the thunk's function.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED void lagwatch_on_entry(uint64_t function, uint64_t* slot);
LAGWATCH_HIDDEN LAGWATCH_UNTRACED uint64_t lagwatch_on_return(uint64_t thunk_end);
}

namespace lagwatch::trace {
namespace {

constexpr uint64_t kThunkBytes = 8;
constexpr uint64_t kCallInThunkBytes = 5;
static_assert(kMaxThunks * kThunkBytes == 0x40000);
constexpr uint32_t kThunksAtOnce = 64;
// The first thunk is never used: unwinders look up the address before the return address.
constexpr uint32_t kNoThunk = 0;
// A thread that has found no free thunk does not look again for so many calls, because each look is long.
constexpr uint32_t kCallsTillNextLook = 1024;
// So many calls in a row that found their thread busy: it is not.
constexpr uint32_t kCallsTillRecovery = 4096;

enum class ThunkState : uint32_t {
  kFree,      // in its owner's list, or in none
  kInUse,     // of a call under way, or of one that was abandoned
  kReturned,  // free, but the call ended on another thread: a fiber had moved
};

struct ThreadThunks;

// Thread safety: for its owner, except `state`, and for the thread on which the call ends.
struct Thunk {
  uint64_t function;
  uint64_t slot;  // where the return address was
  ThreadThunks* owner;
  uint32_t next;   // free one
  uint32_t state;  // a ThunkState
};
Thunk g_thunks[kMaxThunks];
uint32_t g_given_thunks = 1;          // to threads, one after the other
uint32_t g_returned_head = kNoThunk;  // of threads that ended, under the lock
uint32_t g_returned_lock = 0;
uint64_t g_returns_unnoticed = 0;
pthread_key_t g_thread_key;
bool g_is_prepared = false;

struct ThreadThunks {
  uint32_t free_head = kNoThunk;
  uint32_t owned_count = 0;
  uint32_t owned[kMaxThunksPerThread / kThunksAtOnce] = {};  // the first of each of its lots
  uint32_t calls_till_look = 0;
  uint32_t calls_while_busy = 0;
  bool is_busy = false;  // a handler that finds it so leaves everything alone
  bool has_ended = false;
  bool has_key = false;
};
constinit thread_local ThreadThunks t_thunks __attribute__((tls_model("initial-exec")));

LAGWATCH_UNTRACED uint64_t AddressOf(uint32_t thunk) {
  return reinterpret_cast<uint64_t>(lagwatch_thunks) + thunk * kThunkBytes;
}

// kNoThunk when `address` is none's.
LAGWATCH_UNTRACED uint32_t ThunkAt(uint64_t address) {
  const uint64_t offset = address - reinterpret_cast<uint64_t>(lagwatch_thunks);
  return offset < kMaxThunks * kThunkBytes ? static_cast<uint32_t>(offset / kThunkBytes) : kNoThunk;
}

LAGWATCH_UNTRACED void RecordSlowlySaved(uint64_t address, uint64_t flags, uint64_t state, uint64_t ticks) {
  lagwatch_call_saved(address, flags, state, ticks, &RecordSlowly);
}

LAGWATCH_UNTRACED bool TryLockReturned() {
  return __atomic_exchange_n(&g_returned_lock, 1, __ATOMIC_ACQUIRE) == 0;  // pairs with the unlock
}
LAGWATCH_UNTRACED void UnlockReturned() {
  __atomic_store_n(&g_returned_lock, 0, __ATOMIC_RELEASE);  // pairs with the lock
}

LAGWATCH_UNTRACED ThunkState StateOf(uint32_t thunk) {
  return static_cast<ThunkState>(
      __atomic_load_n(&g_thunks[thunk].state,
                      __ATOMIC_ACQUIRE));  // pairs with the return on another thread
}
LAGWATCH_UNTRACED void SetState(uint32_t thunk, ThunkState state) {
  __atomic_store_n(&g_thunks[thunk].state, static_cast<uint32_t>(state),
                   __ATOMIC_RELEASE);  // pairs with the owner's look
}

LAGWATCH_UNTRACED void Free(ThreadThunks* thunks, uint32_t thunk) {
  SetState(thunk, ThunkState::kFree);
  g_thunks[thunk].slot = 0;
  g_thunks[thunk].next = thunks->free_head;
  thunks->free_head = thunk;
}

// Exceptions and jumps leave thunks behind. One is free again when its place on the stack holds something
// else, or is gone. (While the function returns, the place holds the end of the thunk's call.)
LAGWATCH_UNTRACED bool IsAbandoned(uint32_t thunk) {
  const uint64_t slot = g_thunks[thunk].slot;
  uint64_t value = 0;
  if (slot == 0) return true;
  if (!base::ReadOwnValue(slot, &value)) return !base::IsReadable(slot);  // a sandbox may forbid to read
  return (value & ~(kThunkBytes - 1)) != AddressOf(thunk);
}

LAGWATCH_UNTRACED void FreeAbandoned(ThreadThunks* thunks) {
  for (uint32_t lot = 0; lot < thunks->owned_count; ++lot) {
    for (uint32_t i = 0; i < kThunksAtOnce; ++i) {
      const uint32_t thunk = thunks->owned[lot] + i;
      const ThunkState state = StateOf(thunk);
      if (state == ThunkState::kReturned || (state == ThunkState::kInUse && IsAbandoned(thunk)))
        Free(thunks, thunk);
    }
  }
}

LAGWATCH_UNTRACED bool TakeLot(ThreadThunks* thunks) {
  if (thunks->owned_count == kMaxThunksPerThread / kThunksAtOnce) return false;
  uint32_t first = kNoThunk;
  if (TryLockReturned()) {
    first = g_returned_head;
    if (first != kNoThunk) g_returned_head = g_thunks[first].next;
    UnlockReturned();
  }
  if (first == kNoThunk) {
    uint32_t given = __atomic_load_n(&g_given_thunks, __ATOMIC_RELAXED);  // only a number, here and below
    do {
      if (given + kThunksAtOnce > kMaxThunks) return false;
    } while (!__atomic_compare_exchange_n(&g_given_thunks, &given, given + kThunksAtOnce, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    first = given;
  }
  thunks->owned[thunks->owned_count++] = first;
  for (uint32_t i = 0; i < kThunksAtOnce; ++i) {
    g_thunks[first + i].owner = thunks;
    Free(thunks, first + i);
  }
  return true;
}

LAGWATCH_UNTRACED void LookForThunks(uint64_t self, uint64_t, uint64_t, uint64_t) {
  auto* thunks = reinterpret_cast<ThreadThunks*>(self);
  if (!thunks->has_key) thunks->has_key = pthread_setspecific(g_thread_key, thunks) == 0;
  const int error = errno;
  if (thunks->has_key) FreeAbandoned(thunks);
  if (thunks->has_key && thunks->free_head == kNoThunk) TakeLot(thunks);
  if (thunks->free_head == kNoThunk) thunks->calls_till_look = kCallsTillNextLook;
  errno = error;
}

LAGWATCH_UNTRACED uint32_t TakeThunk(ThreadThunks* thunks) {
  if (thunks->free_head == kNoThunk) {
    if (thunks->calls_till_look != 0)
      --thunks->calls_till_look;
    else
      lagwatch_call_saved(reinterpret_cast<uint64_t>(thunks), 0, 0, 0, &LookForThunks);
  }
  const uint32_t thunk = thunks->free_head;
  if (thunk == kNoThunk) return thunk;
  thunks->free_head = g_thunks[thunk].next;
  SetState(thunk, ThunkState::kInUse);
  return thunk;
}

// Whether a handler has jumped out of these functions, rather than interrupted them. If the answer is wrong,
// nothing is used twice: the free ones are left to the interrupted code.
LAGWATCH_UNTRACED bool Recover(ThreadThunks* thunks) {
  if (thunks->has_ended || ++thunks->calls_while_busy < kCallsTillRecovery) return false;
  thunks->free_head = kNoThunk;
  return true;
}

// Lots all of whose thunks are free go back; the others stay with calls that may still end, elsewhere.
LAGWATCH_UNTRACED void EndThreadThunks(void* self) {
  auto* thunks = static_cast<ThreadThunks*>(self);
  thunks->is_busy = thunks->has_ended = true;
  FenceHandlers();
  FreeAbandoned(thunks);
  // Its holder finishes soon; but in a child of fork() the holder may not exist.
  int tries = 1000;
  while (!TryLockReturned()) {
    if (--tries == 0) return;
    sched_yield();
  }
  for (uint32_t lot = 0; lot < thunks->owned_count; ++lot) {
    const uint32_t first = thunks->owned[lot];
    bool is_free = true;
    for (uint32_t i = 0; i < kThunksAtOnce; ++i)
      is_free = is_free && StateOf(first + i) != ThunkState::kInUse;
    if (!is_free) continue;
    g_thunks[first].next = g_returned_head;
    g_returned_head = first;
  }
  UnlockReturned();
}

}  // namespace

bool PrepareReturnThunks() {
  if (g_is_prepared) return true;
  if (!base::CreateThreadEndKey(&g_thread_key, &EndThreadThunks)) return false;
  for (uint32_t thunk = 0; thunk < kMaxThunks; ++thunk) {
    unsigned char* code = lagwatch_thunks + thunk * kThunkBytes;
    const auto distance = static_cast<int32_t>(reinterpret_cast<int64_t>(&lagwatch_return) -
                                               static_cast<int64_t>(AddressOf(thunk) + kCallInThunkBytes));
    constexpr unsigned char kCallThenTraps[kThunkBytes] = {0xe8, 0, 0, 0, 0, 0xcc, 0xcc, 0xcc};
    std::memcpy(code, kCallThenTraps, sizeof kCallThenTraps);
    std::memcpy(code + 1, &distance, sizeof distance);
  }
  g_is_prepared = mprotect(lagwatch_thunks, kMaxThunks * kThunkBytes, PROT_READ | PROT_EXEC) == 0;
  static const stack::ReplacedReturns kReturns{AddressOf(0), kMaxThunks * kThunkBytes,
                                               &OriginalReturnAddress};
  if (g_is_prepared) stack::UseReplacedReturns(&kReturns);
  return g_is_prepared;
}

uint64_t OriginalReturnAddress(uint64_t address) {
  const uint32_t thunk = ThunkAt(address);
  return thunk == kNoThunk ? address
                           : __atomic_load_n(&lagwatch_originals[thunk], __ATOMIC_RELAXED);  // one word
}

ReturnStats ReturnThunkStats() {
  return {.returns_unnoticed = __atomic_load_n(&g_returns_unnoticed, __ATOMIC_RELAXED),  // statistics
          .thunks_in_use = __atomic_load_n(&g_given_thunks, __ATOMIC_RELAXED) - 1U};
}

}  // namespace lagwatch::trace

void lagwatch_on_entry(uint64_t function, uint64_t* slot) {
  using namespace lagwatch::trace;
  if (__atomic_load_n(&g_call_state, __ATOMIC_RELAXED) == 0) return;  // late by an event is early enough
  ThreadThunks& thunks = t_thunks;
  if (thunks.is_busy && !Recover(&thunks)) return;
  thunks.is_busy = true;
  FenceHandlers();
  thunks.calls_while_busy = 0;
  const uint64_t original = *slot;
  const uint32_t outer = ThunkAt(original);
  if (outer != kNoThunk) {
    // A call at the end of another patched function, whose place this one takes.
    RecordCall<&RecordSlowlySaved>(g_thunks[outer].function, 0);
    g_thunks[outer].function = function;
    RecordCall<&RecordSlowlySaved>(function, CallEventWord::kIsEnter);
  } else if (const uint32_t thunk = TakeThunk(&thunks); thunk != kNoThunk) {
    g_thunks[thunk].function = function;
    g_thunks[thunk].slot = reinterpret_cast<uint64_t>(slot);
    __atomic_store_n(&lagwatch_originals[thunk], original,
                     __ATOMIC_RELAXED);  // handlers and this thread read it
    RecordCall<&RecordSlowlySaved>(function, CallEventWord::kIsEnter);
    FenceHandlers();
    __atomic_store_n(slot, AddressOf(thunk), __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_add(&g_returns_unnoticed, 1, __ATOMIC_RELAXED);  // a statistic
  }
  FenceHandlers();
  thunks.is_busy = false;
}

uint64_t lagwatch_on_return(uint64_t thunk_end) {
  using namespace lagwatch::trace;
  ThreadThunks& thunks = t_thunks;
  const bool was_busy = thunks.is_busy;
  thunks.is_busy = true;
  FenceHandlers();
  const uint32_t thunk = ThunkAt(thunk_end - kCallInThunkBytes);
  const uint64_t original = lagwatch_originals[thunk];
  RecordCall<&RecordSlowlySaved>(g_thunks[thunk].function, 0);
  // A handler leaves the list of the interrupted code alone.
  if (g_thunks[thunk].owner == &thunks && !was_busy)
    Free(&thunks, thunk);
  else
    SetState(thunk, ThunkState::kReturned);
  FenceHandlers();
  thunks.is_busy = was_busy;
  return original;
}
