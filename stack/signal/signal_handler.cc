// SPDX-License-Identifier: Apache-2.0
#include "stack/signal/signal_handler.h"

#include <ucontext.h>

#include "base/ticks.h"
#include "stack/signal/call_restart.h"
#include "stack/signal/context.h"
#include "stack/signal/kernel_calls.h"
#include "stack/signal/replaced_returns.h"

namespace lagwatch::stack {

constinit CaptureSlots g_capture_slots;
constinit std::atomic<TimerAction> g_timer_action{nullptr};

namespace {

// Cuts `live` to the part that certainly exists: the stack that belongs to the calling thread stays mapped
// while the thread runs. The main thread's is known by its name, any other by the C library's note of it;
// that thread's control block, to which the thread pointer points, lies at the end of it. Returns false if
// the thread runs on some other memory.
bool CutToOwnStack(const CaptureSlot& slot, uint64_t stack_pointer, MemoryRegion* live) {
  if (slot.stacks.IsOnMainStack(stack_pointer)) return true;
  const ThreadBlockLayout thread_block = g_capture_slots.thread_block;
  if (!thread_block.is_known()) return false;
  uint64_t thread_pointer = ReadThreadPointer();
  uint64_t note_address = thread_pointer + static_cast<uint64_t>(thread_block.stack_note_offset);
  ThreadStackNote note;
  if (live->Holds(thread_pointer) && live->Holds(note_address)) {
    note = *reinterpret_cast<const ThreadStackNote*>(note_address);
  } else if (CopyReadable(note_address, reinterpret_cast<char*>(&note), sizeof note) !=
             sizeof note) {  // a thread that is newer than the regions, or none of the C library
    return false;
  }
  if (!note.Holds(stack_pointer) || !note.Holds(thread_pointer)) return false;
  live->end = thread_pointer;
  // Of the red zone, what shares a page with the stack pointer; more when this handler runs further down.
  constexpr uint64_t kPageMask = 4096 - 1;
  auto handler_frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  bool is_same_stack = note.Holds(handler_frame) && handler_frame < live->begin;
  uint64_t page = stack_pointer & ~kPageMask;
  if (!is_same_stack && live->begin < page) live->begin = page;
  return live->begin < live->end;
}

void CopyStack(const CaptureSlot& slot, RawStack* stack) {
  uint64_t stack_pointer = stack->registers.stack_pointer();
  MemoryRegion live = slot.stacks.LiveStack(stack_pointer);
  bool is_certain = CutToOwnStack(slot, stack_pointer, &live);
  stack->address = live.begin;
  stack->end = live.end;
  uint64_t live_bytes = live.end - live.begin;
  // Memory above another stack may not belong to it, so no more is copied than stacks usually have.
  uint64_t room_bytes = is_certain ? kMaxRawStackBytes : kUsualRawStackBytes;
  uint64_t wanted_bytes = live_bytes < room_bytes ? live_bytes : room_bytes;
  if (is_certain) {
    CopyMapped(live.begin, stack->bytes, wanted_bytes);
    stack->size_bytes = wanted_bytes;
    // Read where it comes from: the copy was written past the caches.
    MendReturns(stack->address, reinterpret_cast<const char*>(stack->address), stack->bytes, wanted_bytes);
  } else {
    // The regions may be out of date, and past the stack's real end there may be nothing by now.
    stack->size_bytes = CopyReadable(live.begin, stack->bytes, wanted_bytes);
    MendReturns(stack->address, stack->bytes, stack->bytes, stack->size_bytes);
  }
  uint64_t& program_counter = stack->registers.value[Registers::kProgramCounter];
  program_counter = CurrentReplacedReturns().Original(program_counter);  // of a function that has just ended
}

// The slot that a signal asks to be answered through; null when it is not ours.
CaptureSlot* SlotOf(const siginfo_t& info) {
  if (!CaptureSlot::IsMarked(info)) return nullptr;
  uint32_t index = CaptureSlot::IndexOf(info);
  if (index >= CaptureSlots::kMaxSlots) return nullptr;
  CaptureSlot* slot = g_capture_slots.slots[index].load(std::memory_order_acquire);  // pairs with its making
  return slot != nullptr && info.si_pid == slot->process_id ? slot : nullptr;
}

bool IsTimers(const siginfo_t& info) {
  return info.si_code == SI_TIMER && reinterpret_cast<uint64_t>(info.si_value.sival_ptr) == kTimerMark;
}

// Whether an alternate signal stack, if the handler runs on one, has room for a timer's action.
bool HasRoomForAction(const void* user_context) {
  const stack_t& alternate = static_cast<const ucontext_t*>(user_context)->uc_stack;
  const auto room_bytes =
      reinterpret_cast<uint64_t>(__builtin_frame_address(0)) - reinterpret_cast<uint64_t>(alternate.ss_sp);
  return room_bytes >= alternate.ss_size || room_bytes >= kTimerActionBytes;
}

void ActOnTimer(const void* user_context) {
  const TimerAction action = g_timer_action.load(std::memory_order_acquire);  // pairs with its store
  if (action == nullptr || !HasRoomForAction(user_context)) return;
  Registers registers;
  ReadContext(user_context, &registers);
  action(registers);
}

// The action that the signal had before ours; null when it never had ours.
const struct sigaction* FindActionBelow(int signal_number) {
  const CaptureSlots& slots = g_capture_slots;
  uint32_t count = slots.previous_count.load(std::memory_order_acquire);  // pairs with the store of an entry
  uint32_t index = 0;
  while (index < count && slots.previous[index].signal_number != signal_number) ++index;
  return index == count ? nullptr : &slots.previous[index].action;
}

bool HasHandlerBelow(int signal_number) {
  const struct sigaction* action = FindActionBelow(signal_number);
  return action != nullptr && ((action->sa_flags & SA_SIGINFO) != 0 ||
                               (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN));
}

// Handles a foreign signal as without lagwatch.
void PassOn(int signal_number, siginfo_t* info, void* user_context) {
  const struct sigaction* action = FindActionBelow(signal_number);
  if (action == nullptr) return;
  if ((action->sa_flags & SA_SIGINFO) != 0) {
    action->sa_sigaction(signal_number, info, user_context);
  } else if (action->sa_handler == SIG_DFL) {
    const bool is_late_capture = CaptureSlot::IsMarked(*info);  // of a monitor that has ended
    if (!is_late_capture)
      TakeDefaultAction(signal_number, *info, reinterpret_cast<uint64_t>(&HandleCaptureSignal));
  } else if (action->sa_handler != SIG_IGN) {
    action->sa_handler(signal_number);
  }
}

void Answer(CaptureSlot* slot, uint32_t ticket, uint64_t begin_ticks, const void* user_context) {
  uint64_t expected = CaptureSlot::Request(ticket, CaptureSlot::kRequested);
  if (!slot->request.compare_exchange_strong(expected, CaptureSlot::Request(ticket, CaptureSlot::kCopying)))
    return;
  ReadContext(user_context, &slot->stack.registers);
  CopyStack(*slot, &slot->stack);
  slot->pause_ticks = base::ReadTicks() - begin_ticks;
  // Release: publishes the copy.
  slot->request.store(CaptureSlot::Request(ticket, CaptureSlot::kDone), std::memory_order_release);
}

}  // namespace

void HandleCaptureSignal(int signal_number, siginfo_t* info, void* user_context) noexcept {
  const uint64_t begin_ticks = base::ReadTicks();
  bool was_asleep = false;
  if (IsTimers(*info)) {
    ActOnTimer(user_context);
  } else {
    CaptureSlot* slot = SlotOf(*info);
    if (slot == nullptr) return PassOn(signal_number, info, user_context);
    was_asleep = CaptureSlot::WasAsleep(*info);
    Answer(slot, CaptureSlot::TicketOf(*info), begin_ticks, user_context);
  }
  // One that shares its signal with us may have been called for the same call.
  if (!HasHandlerBelow(signal_number)) RestartInterruptedCall(signal_number, was_asleep, user_context);
}

bool IsOwnSignal(const siginfo_t& info) { return CaptureSlot::IsMarked(info) || IsTimers(info); }

}  // namespace lagwatch::stack
