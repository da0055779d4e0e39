// SPDX-License-Identifier: Apache-2.0
// Built without vector registers (see CMakeLists.txt): functions' arguments and results are in them while
// this runs.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/process/own_memory.h"
#include "base/system/kernel_call.h"
#include "base/system/seccomp.h"
#include "trace/instrument/probes/function_prober.h"
#include "trace/instrument/probes/probe_site.h"
#include "trace/instrument/thunk_pool.h"

namespace lagwatch::trace {

// The registers that lagwatch_probe_entry saves.
struct SavedEntry {
  uint64_t int_args[6];
  uint64_t rax;
  uint64_t r10;
  uint64_t r11;
  uint64_t mark;         // HandlerMark()
  uint64_t frame_pointer;
  uint64_t unused;
  uint64_t site_return;  // into the site's code
  uint64_t above;        // what the function has pushed, then its return address
};

// The registers that lagwatch_probe_note saves.
struct SavedNote {
  uint64_t registers[16];  // by DWARF's numbers; that of the stack pointer is unused
  uint64_t flags;
  uint64_t site_return;  // into the site's code
  uint8_t red_zone[kRedZoneBytes];
};

}  // namespace lagwatch::trace

// The assembly code of probe_entry_x86_64.cc calls the first two, and has the others.
extern "C" {
LAGWATCH_HIDDEN LAGWATCH_UNTRACED void lagwatch_on_probe_note(lagwatch::trace::SavedNote* saved);
LAGWATCH_HIDDEN LAGWATCH_UNTRACED void lagwatch_on_probe_entry(lagwatch::trace::SavedEntry* saved);
LAGWATCH_HIDDEN LAGWATCH_UNTRACED int lagwatch_thunk_personality(int version, int actions, uint64_t kind,
                                                                 void* exception, void* context);
// As lagwatch_call_saved(), but keeps the low 16 bytes of each alone.
LAGWATCH_HIDDEN void lagwatch_call_baseline(uint64_t, uint64_t, uint64_t, uint64_t,
                                            void (*function)(uint64_t, uint64_t, uint64_t, uint64_t));
// Store xmm0 to xmm7, and xmm0 and xmm1.
LAGWATCH_HIDDEN void lagwatch_store_vector_args(lagwatch::trace::VectorValue values[8]);
LAGWATCH_HIDDEN void lagwatch_store_vector_results(lagwatch::trace::VectorValue values[2]);
}

namespace lagwatch::trace {
namespace {

// A handler that is further up on the stack than a hit is over. Others are on another stack.
constexpr uint64_t kLargestStackBytes = uint64_t{8} << 20;

uint64_t g_hits_missed = 0;
uint64_t g_thunk_args[kMaxThunks][6];
const CallerRanges* g_caller_ranges = nullptr;
// Not 0 in the process that was prepared, but in its children, in which nothing is delivered.
uint32_t g_copied_mark = 1;
uint32_t* g_process_mark = &g_copied_mark;
const OwnStacks* g_own_stacks = nullptr;
bool g_is_prepared = false;
uint32_t g_process_id = 0;  // of the one that was prepared

LAGWATCH_UNTRACED void CountMissed() {
  __atomic_fetch_add(&g_hits_missed, 1, __ATOMIC_RELAXED);  // a statistic
}

LAGWATCH_UNTRACED bool IsInChild() {
  return __atomic_load_n(__atomic_load_n(&g_process_mark, __ATOMIC_RELAXED), __ATOMIC_RELAXED) == 0;
}

LAGWATCH_UNTRACED uint32_t OwnProcess() { return static_cast<uint32_t>(base::CallKernel(SYS_getpid)); }

// After a thread's vfork(2): its child asks until it ends, the parent once.
LAGWATCH_UNTRACED bool IsVforkChild(ThreadThunks* thunks) {
  if (!thunks->may_be_child || base::IsConfined()) return false;
  thunks->may_be_child = OwnProcess() != g_process_id;
  return thunks->may_be_child;
}

// The bytes of the calling thread's own stack below `stack`; 0 on another one.
LAGWATCH_UNTRACED uint64_t OwnStackBytes(const OwnStacks& stacks, uint64_t stack) {
  uint64_t thread_pointer = 0;
  asm("mov %%fs:0, %0" : "=r"(thread_pointer));
  const auto& note = *reinterpret_cast<const stack::ThreadStackNote*>(
      thread_pointer + static_cast<uint64_t>(stacks.thread_block.stack_note_offset));
  if (note.Holds(stack)) return stack - note.address;
  return stack - stacks.main_begin < stacks.main_end - stacks.main_begin ? stack - stacks.main_begin : 0;
}

// The end of the calling thread's own stack, if `stack` is on that; else 0. The thread's control block lies
// there.
LAGWATCH_UNTRACED uint64_t OwnStackEnd(const OwnStacks& stacks, uint64_t stack) {
  uint64_t thread_pointer = 0;
  asm("mov %%fs:0, %0" : "=r"(thread_pointer));
  const auto& note = *reinterpret_cast<const stack::ThreadStackNote*>(
      thread_pointer + static_cast<uint64_t>(stacks.thread_block.stack_note_offset));
  if (note.Holds(stack) && note.Holds(thread_pointer)) return thread_pointer;
  return stack - stacks.main_begin < stacks.main_end - stacks.main_begin ? stacks.main_end : 0;
}

// The stacks of signal handlers and of coroutines may be small, and nothing may guard their ends. A thread's
// own ends in a guard, which is a part of its bytes.
LAGWATCH_UNTRACED bool HasRoom(uint64_t stack) {
  constexpr uint64_t kRoomBytes = 16 << 10;  // for handlers that may use any register, with their walks
  const OwnStacks* stacks = __atomic_load_n(&g_own_stacks, __ATOMIC_ACQUIRE);  // pairs with its store
  return stacks == nullptr || !stacks->thread_block.is_known() || OwnStackBytes(*stacks, stack) >= kRoomBytes;
}

// Whether both are on the calling thread's own stack, or may be on one if that is not known.
LAGWATCH_UNTRACED bool AreOnOneStack(uint64_t first, uint64_t second) {
  const OwnStacks* stacks = __atomic_load_n(&g_own_stacks, __ATOMIC_ACQUIRE);  // pairs with its store
  if (stacks == nullptr || !stacks->thread_block.is_known())
    return first > second && first - second <= kLargestStackBytes;
  return OwnStackBytes(*stacks, first) != 0 && OwnStackBytes(*stacks, second) != 0;
}

LAGWATCH_UNTRACED bool IsOnSignalStack() {
  if (base::IsConfined()) return true;  // asking may end the process
  stack_t stack{};
  const int64_t error = base::CallKernel(SYS_sigaltstack, 0, reinterpret_cast<uint64_t>(&stack));
  return error != 0 || (stack.ss_flags & SS_ONSTACK) != 0;
}

// Whether a signal handler has jumped out of the code that keeps the mark, rather than interrupted it.
LAGWATCH_UNTRACED bool IsLeft(uint64_t mark, uint64_t stack) {
  if (stack == mark) return true;  // its place is taken
  if (!AreOnOneStack(stack, mark)) return false;
  if (stack > mark) return !IsOnSignalStack();  // the signal stack may be an array of an outer function
  return *reinterpret_cast<const volatile uint64_t*>(mark) != HandlerMark(mark);
}

LAGWATCH_UNTRACED bool MayEnterBusy(ThreadThunks* thunks, uint64_t stack) {
  if (thunks->handler_mark == 0) return RecoverThunks(thunks);
  if (!IsLeft(thunks->handler_mark, stack)) return false;
  thunks->free_head = kNoThunk;  // it may have been changing the list
  thunks->has_strays = true;
  return true;
}

// In this order, so that no jump leaves a busy thread without a mark.
LAGWATCH_UNTRACED void BeginHandlers(ThreadThunks* thunks, volatile uint64_t* mark) {
  const auto address = reinterpret_cast<uint64_t>(mark);
  *mark = HandlerMark(address);
  FenceHandlers();
  thunks->handler_mark = address;
  FenceHandlers();
  thunks->is_busy = true;
  FenceHandlers();
}

LAGWATCH_UNTRACED void EndHandlers(ThreadThunks* thunks) {
  FenceHandlers();
  thunks->is_busy = false;
  FenceHandlers();
  thunks->handler_mark = 0;
}

LAGWATCH_UNTRACED bool IsPlainCaller(ThreadThunks* thunks, uint64_t address) {
  const CallerRanges* ranges = __atomic_load_n(&g_caller_ranges, __ATOMIC_ACQUIRE);  // pairs with its store
  if (ranges == nullptr) return false;
  const auto holds = [&](size_t index) {
    return address - ranges->ranges[index].begin < ranges->ranges[index].end - ranges->ranges[index].begin;
  };
  if (thunks->caller_range < ranges->count && holds(thunks->caller_range)) return true;
  size_t low = 0;
  size_t high = ranges->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ranges->ranges[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == ranges->count || !holds(low)) return false;
  thunks->caller_range = static_cast<uint32_t>(low);
  return true;
}

// The slots whose probes a call is delivered to, as bits.
using SlotMask = uint32_t;

LAGWATCH_UNTRACED const ArmedProbe* ProbeIn(const ProbeSite& site, uint32_t slot) {
  return __atomic_load_n(&site.slots[slot], __ATOMIC_ACQUIRE);  // pairs with arming
}

LAGWATCH_UNTRACED SlotMask DeliverEntry(const ProbeSite& site, const ProbeEntry& entry) {
  SlotMask delivered = 0;
  const uint32_t count = __atomic_load_n(&site.slot_count, __ATOMIC_RELAXED);  // only grows
  for (uint32_t slot = 0; slot < count; ++slot) {
    const ArmedProbe* probe = ProbeIn(site, slot);
    if (probe == nullptr) continue;
    delivered |= SlotMask{1} << slot;
    if (probe->handlers->on_entry != nullptr) probe->handlers->on_entry(entry, probe->user_data);
  }
  return delivered;
}

LAGWATCH_UNTRACED void DeliverReturn(const ProbeSite& site, const ProbeReturn& returned, SlotMask mask) {
  for (; mask != 0; mask &= mask - 1) {
    const ArmedProbe* probe = ProbeIn(site, static_cast<uint32_t>(__builtin_ctz(mask)));
    if (probe != nullptr && probe->handlers->on_return != nullptr)
      probe->handlers->on_return(returned, probe->user_data);
  }
}

using SavedCall = void (*)(uint64_t, uint64_t, uint64_t, uint64_t);

LAGWATCH_UNTRACED void CallSaved(uint32_t needs, uint64_t first, uint64_t second, uint64_t third,
                                 SavedCall function) {
  if ((needs & kNeedsAny) != 0) return lagwatch_call_saved(first, second, third, 0, function);
  lagwatch_call_baseline(first, second, third, 0, function);
}

// Counts a hit that is left out.
LAGWATCH_UNTRACED bool HasRoomIfNeeded(uint32_t needs) {
  if ((needs & kNeedsRoom) == 0 || HasRoom(reinterpret_cast<uint64_t>(__builtin_frame_address(0))))
    return true;
  CountMissed();
  return false;
}

// For CallSaved().
LAGWATCH_UNTRACED void DeliverEntrySaved(uint64_t site, uint64_t entry, uint64_t delivered, uint64_t) {
  *reinterpret_cast<SlotMask*>(delivered) =
      DeliverEntry(*reinterpret_cast<const ProbeSite*>(site), *reinterpret_cast<const ProbeEntry*>(entry));
}
LAGWATCH_UNTRACED void DeliverReturnSaved(uint64_t site, uint64_t returned, uint64_t mask, uint64_t) {
  DeliverReturn(*reinterpret_cast<const ProbeSite*>(site), *reinterpret_cast<const ProbeReturn*>(returned),
                static_cast<SlotMask>(mask));
}

LAGWATCH_UNTRACED SlotMask DeliverEntryWith(const ProbeSite& site, uint32_t needs, const ProbeEntry& entry) {
  if (!HasRoomIfNeeded(needs)) return 0;
  if ((needs & (kNeedsAny | kNeedsBaseline)) == 0) return DeliverEntry(site, entry);
  SlotMask delivered = 0;
  CallSaved(needs, reinterpret_cast<uint64_t>(&site), reinterpret_cast<uint64_t>(&entry),
            reinterpret_cast<uint64_t>(&delivered), &DeliverEntrySaved);
  return delivered;
}

LAGWATCH_UNTRACED SlotMask DeliverEntryOf(const ProbeSite& site, uint32_t needs, const SavedEntry& saved,
                                          const uint64_t* slot) {
  VectorValue vectors[8];
  if ((needs & kNeedsVectors) != 0) lagwatch_store_vector_args(vectors);
  const ProbeEntry entry{.function = site.function,
                         .int_args = saved.int_args,
                         .vector_args = (needs & kNeedsVectors) != 0 ? vectors : nullptr,
                         .stack = slot,
                         .return_address = OriginalReturnAddress(*slot),
                         .vector_count = saved.rax & 0xff,
                         .frame_pointer = saved.frame_pointer};
  return DeliverEntryWith(site, needs, entry);
}

// Makes the call's end noticed; false if that cannot be.
LAGWATCH_UNTRACED bool AwaitReturn(ThreadThunks* thunks, const ProbeSite& site, SlotMask delivered,
                                   const SavedEntry& saved, uint64_t* slot) {
  const uint32_t outer = ThunkAt(*slot);
  uint32_t thunk = kNoThunk;
  if (outer != kNoThunk) {
    thunk = ChainThunk(thunks, outer, site.function, slot);
  } else if (IsPlainCaller(thunks, *slot)) {
    thunk = TakeThunk(thunks);
    if (thunk != kNoThunk) NoteReturn(thunk, site.function, slot, *slot);
  }
  if (thunk == kNoThunk) return false;
  g_thunks[thunk].site = &site;
  g_thunks[thunk].delivered = delivered;
  if ((__atomic_load_n(&site.needs, __ATOMIC_RELAXED) & kNeedsArgs) != 0)  // as of arming
    __builtin_memcpy(g_thunk_args[thunk], saved.int_args, sizeof saved.int_args);
  ReplaceReturn(thunk, slot);
  // The last thing here, so that the call's time has as little of ours as possible.
  g_thunks[thunk].entered_ticks = base::ReadTicks();
  return true;
}

LAGWATCH_UNTRACED void DeliverReturnOf(uint32_t thunk, uint64_t left_ticks, const uint64_t* results,
                                       const VectorValue* vectors) {
  const ProbeSite* site = g_thunks[thunk].site;
  const uint32_t needs = __atomic_load_n(&site->needs, __ATOMIC_RELAXED);  // a probe more or less
  const ProbeReturn returned{
      .function = site->function,
      .int_args = (needs & kNeedsArgs) != 0 ? g_thunk_args[thunk] : nullptr,
      .result = {results != nullptr ? results[0] : 0, results != nullptr ? results[2] : 0},
      .vectors = (needs & kNeedsVectors) != 0 ? vectors : nullptr,
      .return_address = lagwatch_originals[thunk],
      .entered_ticks = g_thunks[thunk].entered_ticks,
      .left_ticks = left_ticks,
      .left_by_exception = results == nullptr};
  const SlotMask mask = g_thunks[thunk].delivered;
  if (!HasRoomIfNeeded(needs)) return;
  if ((needs & (kNeedsAny | kNeedsBaseline)) == 0) return DeliverReturn(*site, returned, mask);
  CallSaved(needs, reinterpret_cast<uint64_t>(site), reinterpret_cast<uint64_t>(&returned), mask,
            &DeliverReturnSaved);
}

// The calls that end together, the innermost first.
LAGWATCH_UNTRACED void DeliverEnds(uint32_t thunk, const uint64_t* results) {
  const uint64_t left_ticks = base::ReadTicks();
  VectorValue vectors[2] = {};
  if (results != nullptr) lagwatch_store_vector_results(vectors);
  for (uint32_t call = thunk; call != kNoThunk; call = g_thunks[call].outer) {
    if (g_thunks[call].site != nullptr)
      DeliverReturnOf(call, left_ticks, results, results != nullptr ? vectors : nullptr);
    else
      RecordThunkCall(g_thunks[call].function, 0);
  }
}

// The unwinder's that calls ours, by what it says itself.
const UnwinderCalls* g_unwinder = nullptr;

}  // namespace

uint64_t EndProbedCall(ThreadThunks* thunks, uint32_t thunk, const uint64_t* results) {
  const bool was_busy = thunks->is_busy;
  const uint64_t original = lagwatch_originals[thunk];
  volatile uint64_t mark = 0;
  if (was_busy)
    CountMissed();
  else
    BeginHandlers(thunks, &mark);
  if (!was_busy && !IsInChild() && !IsVforkChild(thunks)) DeliverEnds(thunk, results);
  while (thunk != kNoThunk) {
    Thunk& ended = g_thunks[thunk];
    const uint32_t outer = ended.outer;
    ended.site = nullptr;
    ended.outer = kNoThunk;
    ended.depth = 0;
    ReleaseThunk(thunks, thunk, was_busy);
    thunk = outer;
  }
  if (!was_busy) EndHandlers(thunks);
  return original;
}

void CallWithAnyRegisters(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth,
                          SavedCall function) {
  lagwatch_call_saved(first, second, third, fourth, function);
}

bool IsOnOwnStack(uint64_t address, uint64_t size_bytes) {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const OwnStacks* stacks = __atomic_load_n(&g_own_stacks, __ATOMIC_ACQUIRE);  // pairs with its store
  if (address < here || stacks == nullptr || !stacks->thread_block.is_known()) return false;
  const uint64_t end = OwnStackEnd(*stacks, here);
  return address < end && size_bytes <= end - address;
}

void UseCallerRanges(const CallerRanges* ranges) {
  __atomic_store_n(&g_caller_ranges, ranges, __ATOMIC_RELEASE);  // pairs with IsPlainCaller()
}

void UseUnwinder(const UnwinderCalls* unwinder) {
  __atomic_store_n(&g_unwinder, unwinder, __ATOMIC_RELEASE);  // pairs with the personality
}

bool PrepareProbeHits() {
  if (g_is_prepared) return true;
  if (!PrepareReturnThunks()) return false;
  g_process_id = OwnProcess();
  if (auto* wiped = static_cast<uint32_t*>(base::TakeWiped(sizeof(uint32_t)))) {
    *wiped = 1;
    __atomic_store_n(&g_process_mark, wiped, __ATOMIC_RELEASE);  // the first hits are later
    g_is_prepared = true;
  } else {  // children of fork(3) alone
    const auto note_child = [] {
      __atomic_store_n(&g_copied_mark, 0, __ATOMIC_RELAXED);
    };  // it has one thread
    g_is_prepared = pthread_atfork(nullptr, nullptr, note_child) == 0;
  }
  return g_is_prepared;
}

bool IsInChildOfProbed() { return IsInChild(); }
void DeliverHitsInChild() {
  g_process_id = OwnProcess();
  __atomic_store_n(g_process_mark, 1, __ATOMIC_RELAXED);  // a hit more or less
}

void UseOwnStacks(const OwnStacks* stacks) {
  __atomic_store_n(&g_own_stacks, stacks, __ATOMIC_RELEASE);  // pairs with HasRoom()
}

ProbeStats FunctionProbeStats() {
  return {.hits_missed = __atomic_load_n(&g_hits_missed, __ATOMIC_RELAXED),  // statistics
          .returns_unnoticed = ReturnThunkStats().returns_unnoticed};
}

const ProbeHandlers& VforkHandlers() {
  static constexpr ProbeHandlers kHandlers{
      .on_entry = [](const ProbeEntry&, void*) { t_thunks.may_be_child = true; },
      .registers = HandlerRegisters::kGeneral};
  return kHandlers;
}

void LeaveThreadOutOfProbes() { t_thunks.is_left_out = true; }

bool SetLeftOutOfProbes(bool is_left_out) {
  const bool was_left_out = t_thunks.is_left_out;
  t_thunks.is_left_out = is_left_out;
  return was_left_out;
}

}  // namespace lagwatch::trace

void lagwatch_on_probe_note(lagwatch::trace::SavedNote* saved) {
  using namespace lagwatch::trace;
  const auto* site =
      *reinterpret_cast<const ProbeSite* const*>(saved->site_return - SiteCode::kNoteSiteBefore);
  ThreadThunks& thunks = t_thunks;
  if (thunks.is_left_out || IsInChild() || IsVforkChild(&thunks)) return;
  volatile uint64_t mark = 0;
  if (thunks.is_busy && !MayEnterBusy(&thunks, reinterpret_cast<uint64_t>(&mark))) return CountMissed();
  BeginHandlers(&thunks, &mark);
  thunks.calls_while_busy = 0;
  constexpr size_t kStackPointer = 7;
  saved->registers[kStackPointer] = reinterpret_cast<uint64_t>(saved + 1);
  const ProbeEntry entry{.function = site->function,
                         .int_args = nullptr,
                         .vector_args = nullptr,
                         .stack = nullptr,
                         .return_address = 0,
                         .vector_count = 0,
                         .registers = saved->registers};
  DeliverEntryWith(*site, __atomic_load_n(&site->needs, __ATOMIC_RELAXED), entry);  // a hit more or less
  EndHandlers(&thunks);
}

void lagwatch_on_probe_entry(lagwatch::trace::SavedEntry* saved) {
  using namespace lagwatch::trace;
  const auto* site = *reinterpret_cast<const ProbeSite* const*>(saved->site_return - SiteCode::kSiteBefore);
  ThreadThunks& thunks = t_thunks;
  if (thunks.is_left_out || IsInChild() || IsVforkChild(&thunks)) return;
  if (thunks.is_busy && !MayEnterBusy(&thunks, reinterpret_cast<uint64_t>(&saved->mark)))
    return CountMissed();
  BeginHandlers(&thunks, &saved->mark);
  thunks.calls_while_busy = 0;
  const uint32_t needs = __atomic_load_n(&site->needs, __ATOMIC_RELAXED);  // a hit more or less
  auto* slot = reinterpret_cast<uint64_t*>(reinterpret_cast<uint64_t>(&saved->above) + site->pushed_bytes);
  const SlotMask delivered = DeliverEntryOf(*site, needs, *saved, slot);
  if ((needs & kNeedsReturn) != 0 && delivered != 0 && !AwaitReturn(&thunks, *site, delivered, *saved, slot))
    CountUnnoticedReturn();
  EndHandlers(&thunks);
}

// The second phase of an exception, or of a thread's end, passes by a call: it is over.
int lagwatch_thunk_personality(int version, int actions, uint64_t, void*, void* context) {
  using namespace lagwatch::trace;
  constexpr int kContinue = 8;  // _URC_CONTINUE_UNWIND
  constexpr int kCleanupPhase = 2;
  if (version != 1 || (actions & kCleanupPhase) == 0) return kContinue;
  const UnwinderCalls* unwinder = __atomic_load_n(&g_unwinder, __ATOMIC_ACQUIRE);  // pairs with its store
  const auto caller = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  // Another unwinder's context is of a kind that is not known.
  if (unwinder == nullptr || caller - unwinder->begin >= unwinder->end - unwinder->begin) return kContinue;
  const uint32_t thunk = ThunkAt(unwinder->get_ip(context));
  ThreadThunks& thunks = t_thunks;
  if (thunk == kNoThunk || g_thunks[thunk].IsRecordersAlone() || thunks.is_left_out) return kContinue;
  if (thunks.is_busy || IsInChild()) {
    CountMissed();
    return kContinue;
  }
  volatile uint64_t mark = 0;
  BeginHandlers(&thunks, &mark);
  DeliverEnds(thunk, nullptr);
  // The thunk itself stays, because the unwinder reads its original address after this: it is found as
  // abandoned.
  for (uint32_t call = thunk; call != kNoThunk; call = g_thunks[call].outer) g_thunks[call].delivered = 0;
  EndHandlers(&thunks);
  return kContinue;
}
