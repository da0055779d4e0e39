// SPDX-License-Identifier: Apache-2.0
#include "stack/signal/capture_signal.h"

#include "stack/signal/context.h"

namespace lagwatch::stack {

std::atomic<CaptureSlot*> g_capture_slot{nullptr};

namespace {

// Whether all of [stack_pointer, *end) is certain to be there: a stack that its thread runs on stays mapped.
// The main thread's is known by its name; the C library puts a thread's control block, to which the thread
// pointer points, at the end of that thread's own stack.
bool FindOwnStackEnd(const CaptureSlot& slot, uint64_t stack_pointer, uint64_t* end) {
  if (slot.main_stack.Holds(stack_pointer)) {
    *end = slot.main_stack.end;
    return true;
  }
  const MemoryRegion* region = FindRegion(stack_pointer, slot.regions, slot.region_count);
  uint64_t thread_pointer = ReadThreadPointer();
  if (region == nullptr || !region->Holds(thread_pointer) || thread_pointer < stack_pointer) return false;
  *end = thread_pointer;
  return true;
}

void CopyStack(const CaptureSlot& slot, RawStack* stack) {
  stack->address = stack->registers.stack_pointer();
  bool is_certain = FindOwnStackEnd(slot, stack->address, &stack->end);
  if (!is_certain) stack->end = FindStackEnd(stack->address, slot.regions, slot.region_count);
  uint64_t live_bytes = stack->end - stack->address;
  uint64_t wanted_bytes = live_bytes < kMaxRawStackBytes ? live_bytes : kMaxRawStackBytes;
  if (is_certain) {
    CopyMapped(stack->address, stack->bytes, wanted_bytes);
    stack->size_bytes = wanted_bytes;
  } else {
    // The regions may be out of date, and past the stack's real end there may be nothing by now.
    stack->size_bytes = CopyReadable(slot.process_id, stack->address, stack->bytes, wanted_bytes);
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
