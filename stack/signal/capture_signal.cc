// SPDX-License-Identifier: Apache-2.0
#include "stack/signal/capture_signal.h"

#include "base/ticks.h"
#include "stack/signal/context.h"

namespace lagwatch::stack {

std::atomic<CaptureSlot*> g_capture_slot{nullptr};

namespace {

// Cuts `live` to what is certain to be there: the stack that belongs to the calling thread stays mapped while
// the thread runs. The main thread's is known by its name, any other by the C library's note of it; that
// thread's control block, to which the thread pointer points, lies at the end of it. False when the thread
// runs on some other memory.
bool CutToOwnStack(const CaptureSlot& slot, uint64_t stack_pointer, MemoryRegion* live) {
  if (slot.stacks.IsOnMainStack(stack_pointer)) return true;
  if (!slot.thread_block.is_known()) return false;
  uint64_t thread_pointer = ReadThreadPointer();
  uint64_t note_address = thread_pointer + static_cast<uint64_t>(slot.thread_block.stack_note_offset);
  if (!live->Holds(thread_pointer) || !live->Holds(note_address)) return false;  // no thread of the C library
  const auto* note = reinterpret_cast<const ThreadStackNote*>(note_address);
  if (!note->Holds(stack_pointer) || !note->Holds(thread_pointer)) return false;
  live->end = thread_pointer;
  // Of the red zone, what shares a page with the stack pointer; more when this handler runs further down.
  constexpr uint64_t kPageMask = 4096 - 1;
  auto handler_frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  bool is_same_stack = note->Holds(handler_frame) && handler_frame < live->begin;
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
  // What lies above some other stack is not known to belong to it, so no more is taken than stacks usually
  // are.
  uint64_t room_bytes = is_certain ? kMaxRawStackBytes : kUsualRawStackBytes;
  uint64_t wanted_bytes = live_bytes < room_bytes ? live_bytes : room_bytes;
  if (is_certain) {
    CopyMapped(live.begin, stack->bytes, wanted_bytes);
    stack->size_bytes = wanted_bytes;
  } else {
    // The regions may be out of date, and past the stack's real end there may be nothing by now.
    stack->size_bytes = CopyReadable(slot.process_id, live.begin, stack->bytes, wanted_bytes);
  }
}

void PassOn(const CaptureSlot& slot, int signal_number, siginfo_t* info, void* user_context) {
  uint32_t count = slot.previous_count.load(std::memory_order_acquire);  // pairs with the store of an entry
  uint32_t index = 0;
  while (index < count && slot.previous[index].signal_number != signal_number) ++index;
  if (index == count) return;
  const struct sigaction& action = slot.previous[index].action;
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal_number, info, user_context);
  } else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
    action.sa_handler(signal_number);
  }
}

}  // namespace

void HandleCaptureSignal(int signal_number, siginfo_t* info, void* user_context) noexcept {
  CaptureSlot* slot = g_capture_slot.load(std::memory_order_acquire);  // pairs with the store of a ready slot
  if (slot == nullptr) return;
  const uint64_t begin_ticks = base::ReadTicks();
  if (!slot->HasSent(*info)) return PassOn(*slot, signal_number, info, user_context);
  uint32_t ticket = CaptureSlot::TicketOf(*info);
  uint64_t expected = CaptureSlot::Request(ticket, CaptureSlot::kRequested);
  if (!slot->request.compare_exchange_strong(expected, CaptureSlot::Request(ticket, CaptureSlot::kCopying)))
    return;
  ReadContext(user_context, &slot->stack.registers);
  CopyStack(*slot, &slot->stack);
  slot->pause_ticks = base::ReadTicks() - begin_ticks;
  // Release: publishes the copy.
  slot->request.store(CaptureSlot::Request(ticket, CaptureSlot::kDone), std::memory_order_release);
}

}  // namespace lagwatch::stack
