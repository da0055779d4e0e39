// SPDX-License-Identifier: Apache-2.0
#include "stack/signal/capture_signal.h"

#include "stack/signal/context.h"

namespace lagwatch::stack {

std::atomic<CaptureSlot*> g_capture_slot{nullptr};

void HandleCaptureSignal(int, siginfo_t* info, void* user_context) noexcept {
  CaptureSlot* slot = g_capture_slot.load(std::memory_order_acquire);  // pairs with the store of a ready slot
  if (slot == nullptr || info->si_code != SI_QUEUE) return;
  auto ticket = static_cast<uint32_t>(info->si_value.sival_int);
  uint64_t expected = CaptureSlot::Request(ticket, CaptureSlot::kRequested);
  if (!slot->request.compare_exchange_strong(expected, CaptureSlot::Request(ticket, CaptureSlot::kCopying)))
    return;

  RawStack& stack = slot->stack;
  ReadContext(user_context, &stack.registers);
  stack.address = stack.registers.stack_pointer() - kRedZoneBytes;
  stack.end = FindStackEnd(stack.registers.stack_pointer(), slot->regions, slot->region_count);
  uint64_t live_bytes = stack.end - stack.address;
  uint64_t wanted_bytes = live_bytes < kMaxRawStackBytes ? live_bytes : kMaxRawStackBytes;
  // The regions may be out of date, and past the stack's real end there may be nothing by now.
  stack.size_bytes = CopyReadable(slot->process_id, stack.address, stack.bytes, wanted_bytes);
  // Release: publishes the copy.
  slot->request.store(CaptureSlot::Request(ticket, CaptureSlot::kDone), std::memory_order_release);
}

}  // namespace lagwatch::stack
