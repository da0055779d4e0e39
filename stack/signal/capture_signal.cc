// SPDX-License-Identifier: Apache-2.0
#include "stack/signal/capture_signal.h"

#include "stack/signal/context.h"

namespace lagwatch::stack {

std::atomic<CaptureSlot*> g_capture_slot{nullptr};

namespace {

// Cuts `live` to what is certain to be there: a stack that its thread runs on stays mapped. The main thread's
// is known by its name; the C library puts a thread's control block, to which the thread pointer points, at
// the end of that thread's own stack. False when the thread runs on another one.
bool CutToOwnStack(const StackRegions& stacks, uint64_t stack_pointer, MemoryRegion* live) {
  if (stacks.IsOnMainStack(stack_pointer)) return true;
  uint64_t thread_pointer = ReadThreadPointer();
  if (thread_pointer < stack_pointer || !live->Holds(thread_pointer)) return false;
  live->end = thread_pointer;
  return true;
}

void CopyStack(const CaptureSlot& slot, RawStack* stack) {
  uint64_t stack_pointer = stack->registers.stack_pointer();
  MemoryRegion live = slot.stacks.LiveStack(stack_pointer);
  bool is_certain = CutToOwnStack(slot.stacks, stack_pointer, &live);
  stack->address = live.begin;
  stack->end = live.end;
  uint64_t live_bytes = live.end - live.begin;
  uint64_t wanted_bytes = live_bytes < kMaxRawStackBytes ? live_bytes : kMaxRawStackBytes;
  if (is_certain) {
    CopyMapped(live.begin, stack->bytes, wanted_bytes);
    stack->size_bytes = wanted_bytes;
  } else {
    // The regions may be out of date, and past the stack's real end there may be nothing by now.
    stack->size_bytes = CopyReadable(slot.process_id, live.begin, stack->bytes, wanted_bytes);
  }
}

void PassOn(const struct sigaction& action, int signal_number, siginfo_t* info, void* user_context) {
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
  auto ticket = static_cast<uint32_t>(info->si_value.sival_int);
  uint64_t expected = CaptureSlot::Request(ticket, CaptureSlot::kRequested);
  bool is_ours =
      info->si_code == SI_QUEUE && info->si_pid == slot->process_id &&
      slot->request.compare_exchange_strong(expected, CaptureSlot::Request(ticket, CaptureSlot::kCopying));
  if (!is_ours) return PassOn(slot->previous_action, signal_number, info, user_context);
  ReadContext(user_context, &slot->stack.registers);
  CopyStack(*slot, &slot->stack);
  // Release: publishes the copy.
  slot->request.store(CaptureSlot::Request(ticket, CaptureSlot::kDone), std::memory_order_release);
}

}  // namespace lagwatch::stack
