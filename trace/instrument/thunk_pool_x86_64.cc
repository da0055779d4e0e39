// SPDX-License-Identifier: Apache-2.0
// Built without vector registers (see CMakeLists.txt): the arguments and results of patched functions are in
// them while this runs.
#include <cpuid.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/process/safe_memory.h"
#include "base/process/thread_end_key.h"
#include "base/system/seccomp.h"
#include "stack/signal/replaced_returns.h"
#include "trace/instrument/thunk_pool.h"

extern "C" {
// The target of the thunks' jumps: continues at the original return address.
LAGWATCH_HIDDEN void lagwatch_return();
// Of lagwatch_call_saved(): the room that it takes by xsave; its way: 0 xsave, 1 moves of registers of 32
// bytes, 2 of 64.
LAGWATCH_HIDDEN extern uint64_t lagwatch_saved_bytes;
LAGWATCH_HIDDEN extern uint32_t lagwatch_saved_way;
}

namespace lagwatch::trace {

Thunk g_thunks[kMaxThunks];
constinit thread_local ThreadThunks t_thunks __attribute__((tls_model("initial-exec")));

namespace {

static_assert(kMaxThunks * kThunkBytes == 0x40000);
// A thread that has found no free thunk does not look again for so many calls, because each look is long.
constexpr uint32_t kCallsTillNextLook = 1024;
// So many calls in a row that found their thread busy: it is not.
constexpr uint32_t kCallsTillRecovery = 4096;
// Functions that end in jumps to each other for ever have no room for more.
constexpr uint32_t kMaxChained = 16;

// The bytes that xsave writes for the registers that trampolines_x86_64.cc keeps.
uint64_t SavedRegistersBytes() {
  constexpr uint32_t kLeaf = 0xd;
  uint64_t bytes = 576;  // the oldest registers and the header
  for (const uint32_t component : {2, 5, 6, 7}) {
    uint32_t size_bytes = 0;
    uint32_t offset = 0;
    uint32_t unused = 0;
    if (__get_cpuid_count(kLeaf, component, &size_bytes, &offset, &unused, &unused) == 0) return 4096;
    if (size_bytes != 0 && bytes < uint64_t{offset} + size_bytes) bytes = uint64_t{offset} + size_bytes;
  }
  return bytes;
}

// The way in which they can be kept.
uint32_t SavedRegistersWay() {
  constexpr uint32_t kStateLeaf = 0xd;
  constexpr uint32_t kFeatureLeaf = 7;
  constexpr uint32_t kTellsUse = 1 << 2;  // xgetbv says which parts are in use
  constexpr uint32_t kHasWideMasks = 1U << 30;
  constexpr uint32_t kAvx = 0x06;
  constexpr uint32_t kAvx512 = 0xe0;
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  if (__get_cpuid_count(kStateLeaf, 1, &eax, &ebx, &ecx, &edx) == 0 || (eax & kTellsUse) == 0) return 0;
  uint32_t enabled = 0;
  asm("xgetbv" : "=a"(enabled), "=d"(edx) : "c"(0));
  if ((enabled & kAvx) != kAvx) return 0;
  if ((enabled & kAvx512) == 0) return 1;
  const bool has_leaf = __get_cpuid_count(kFeatureLeaf, 0, &eax, &ebx, &ecx, &edx) != 0;
  return has_leaf && (ebx & kHasWideMasks) != 0 ? 2 : 0;
}

uint32_t g_given_thunks = 1;          // to threads, one after the other
uint32_t g_returned_head = kNoThunk;  // of threads that ended, under the lock
uint32_t g_returned_lock = 0;
uint64_t g_returns_unnoticed = 0;
pthread_key_t g_thread_key;
bool g_is_prepared = false;

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
// Exceptions and jumps leave thunks behind. One is free again when its place on the stack holds something
// else, or is gone.
LAGWATCH_UNTRACED bool IsAbandoned(uint32_t thunk) {
  const uint64_t slot = g_thunks[thunk].slot;
  uint64_t value = 0;
  if (slot == 0) return false;  // this handler has interrupted the code that takes it
  if (base::IsConfined()) return false;
  if (base::ReadOwnMemoryByCall(slot, &value, sizeof value) != sizeof value)
    return !base::IsReadable(slot);  // a sandbox may forbid to read
  return (value & ~(kThunkBytes - 1)) != AddressOfThunk(thunk);
}

LAGWATCH_UNTRACED void FreeChain(ThreadThunks* thunks, uint32_t thunk) {
  uint32_t outer = g_thunks[thunk].outer;
  g_thunks[thunk].site = nullptr;
  g_thunks[thunk].outer = kNoThunk;
  g_thunks[thunk].depth = 0;
  FreeThunk(thunks, thunk);
  while (outer != kNoThunk) {
    Thunk& chained = g_thunks[outer];
    const uint32_t next = chained.outer;
    chained.site = nullptr;
    chained.outer = kNoThunk;
    chained.depth = 0;
    ReleaseThunk(thunks, outer, false);
    outer = next;
  }
}

// Calls `visit` for each thunk of the thread's.
template <typename Visit>
LAGWATCH_UNTRACED void ForEachThunk(const ThreadThunks& thunks, Visit visit) {
  for (uint32_t first = thunks.lot_head; first != kNoThunk; first = g_thunks[first].next_lot)
    for (uint32_t i = 0; i < kThunksInLot; ++i) visit(first + i);
}

// A signal handler has jumped out of code that had the list, and maybe a thunk, in its hands. Nothing is in
// the list.
LAGWATCH_UNTRACED void FreeStrays(ThreadThunks* thunks) {
  ForEachThunk(*thunks, [&](uint32_t thunk) LAGWATCH_UNTRACED {
    const ThunkState state = StateOf(thunk);
    if (state == ThunkState::kFree || (state == ThunkState::kInUse && g_thunks[thunk].slot == 0))
      FreeThunk(thunks, thunk);
  });
}

LAGWATCH_UNTRACED void FreeAbandoned(ThreadThunks* thunks) {
  ForEachThunk(*thunks, [&](uint32_t thunk) LAGWATCH_UNTRACED {
    const ThunkState state = StateOf(thunk);
    thunks->calls_while_busy = 0;  // it is: what is called here may be patched, too
    if (state == ThunkState::kReturned)
      FreeThunk(thunks, thunk);
    else if (state == ThunkState::kInUse && IsAbandoned(thunk))
      FreeChain(thunks, thunk);
  });
}

LAGWATCH_UNTRACED bool TakeLot(ThreadThunks* thunks) {
  if (thunks->lot_count == kMaxThunksPerThread / kThunksInLot) return false;
  uint32_t first = kNoThunk;
  if (TryLockReturned()) {
    first = g_returned_head;
    if (first != kNoThunk) g_returned_head = g_thunks[first].next;
    UnlockReturned();
  }
  if (first == kNoThunk) {
    uint32_t given = __atomic_load_n(&g_given_thunks, __ATOMIC_RELAXED);  // only a number, here and below
    do {
      if (given + kThunksInLot > kMaxThunks) return false;
    } while (!__atomic_compare_exchange_n(&g_given_thunks, &given, given + kThunksInLot, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    first = given;
  }
  g_thunks[first].next_lot = thunks->lot_head;
  thunks->lot_head = first;
  ++thunks->lot_count;
  for (uint32_t i = 0; i < kThunksInLot; ++i) {
    g_thunks[first + i].owner = thunks;
    FreeThunk(thunks, first + i);
  }
  return true;
}

// As many as it has, because each look is longer the more it has.
LAGWATCH_UNTRACED void TakeLots(ThreadThunks* thunks) {
  uint32_t wanted = thunks->lot_count == 0 ? 1 : thunks->lot_count;
  while (wanted != 0 && TakeLot(thunks)) --wanted;
}

LAGWATCH_UNTRACED void LookForThunks(uint64_t self, uint64_t, uint64_t, uint64_t) {
  auto* thunks = reinterpret_cast<ThreadThunks*>(self);
  if (!thunks->has_key) thunks->has_key = pthread_setspecific(g_thread_key, thunks) == 0;
  const int error = errno;
  if (thunks->has_key && thunks->has_strays && !thunks->has_guessed) FreeStrays(thunks);
  thunks->has_strays = false;
  if (thunks->has_key) FreeAbandoned(thunks);
  if (thunks->has_key && thunks->free_head == kNoThunk) TakeLots(thunks);
  if (thunks->free_head == kNoThunk) thunks->calls_till_look = kCallsTillNextLook;
  errno = error;
}

LAGWATCH_UNTRACED void RecordSlowlySaved(uint64_t address, uint64_t flags, uint64_t state, uint64_t ticks) {
  lagwatch_call_saved(address, flags, state, ticks, &RecordSlowly);
}

LAGWATCH_UNTRACED bool IsOver(ThunkState state) {
  return state == ThunkState::kFree || state == ThunkState::kReturned;
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
  for (uint32_t first = thunks->lot_head; first != kNoThunk; first = g_thunks[first].next_lot) {
    bool is_free = true;
    for (uint32_t i = 0; i < kThunksInLot; ++i) is_free = is_free && IsOver(StateOf(first + i));
    if (!is_free) continue;
    g_thunks[first].next = g_returned_head;
    g_returned_head = first;
  }
  UnlockReturned();
}

}  // namespace

void FindThunks(ThreadThunks* thunks) {
  if (thunks->calls_till_look != 0)
    --thunks->calls_till_look;
  else
    lagwatch_call_saved(reinterpret_cast<uint64_t>(thunks), 0, 0, 0, &LookForThunks);
}

bool RecoverThunks(ThreadThunks* thunks) {
  if (thunks->has_ended || ++thunks->calls_while_busy < kCallsTillRecovery) return false;
  thunks->free_head = kNoThunk;
  thunks->has_guessed = true;
  return true;
}

void CountUnnoticedReturn() { __atomic_fetch_add(&g_returns_unnoticed, 1, __ATOMIC_RELAXED); }  // a statistic

void RecordThunkCall(uint64_t function, uint64_t flags) { RecordCall<&RecordSlowlySaved>(function, flags); }

uint32_t ChainThunk(ThreadThunks* thunks, uint32_t outer, uint64_t function, uint64_t* slot) {
  if (g_thunks[outer].depth >= kMaxChained) return kNoThunk;
  const uint32_t thunk = TakeThunk(thunks);
  if (thunk == kNoThunk) return kNoThunk;
  NoteReturn(thunk, function, slot, lagwatch_originals[outer]);
  g_thunks[thunk].outer = outer;
  g_thunks[thunk].depth = g_thunks[outer].depth + 1;
  SetThunkState(outer, ThunkState::kChained);
  return thunk;
}

bool PrepareReturnThunks() {
  if (g_is_prepared) return true;
  lagwatch_saved_bytes = SavedRegistersBytes();
  lagwatch_saved_way = SavedRegistersWay();
  if (!base::CreateThreadEndKey(&g_thread_key, &EndThreadThunks)) return false;
  for (uint32_t thunk = 0; thunk < kMaxThunks; ++thunk) {
    unsigned char* code = lagwatch_thunks + thunk * kThunkBytes;
    const auto distance =
        static_cast<int32_t>(reinterpret_cast<int64_t>(&lagwatch_return) -
                             static_cast<int64_t>(AddressOfThunk(thunk) + kJumpInThunkBytes));
    constexpr unsigned char kJumpThenTraps[kThunkBytes] = {0xe9, 0, 0, 0, 0, 0xcc, 0xcc, 0xcc};
    std::memcpy(code, kJumpThenTraps, sizeof kJumpThenTraps);
    std::memcpy(code + 1, &distance, sizeof distance);
  }
  g_is_prepared = mprotect(lagwatch_thunks, kMaxThunks * kThunkBytes, PROT_READ | PROT_EXEC) == 0;
  static const stack::ReplacedReturns kReturns{AddressOfThunk(0), kMaxThunks * kThunkBytes,
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
