// SPDX-License-Identifier: Apache-2.0
#include "stack/signal/capture_signal.h"

#include "stack/signal/context.h"

namespace lagwatch::stack {

std::atomic<CaptureSlot*> g_capture_slot{nullptr};

void HandleCaptureSignal(int, siginfo_t* info, void* user_context) noexcept {
  CaptureSlot* slot = g_capture_slot.load(std::memory_order_acquire);  // pairs with the store of a ready slot
  if (slot == nullptr || info->si_code != SI_QUEUE) return;
  // Relaxed: the exchange below orders; a wrong ticket only means that there is nothing to do.
  if (slot->ticket.load(std::memory_order_relaxed) != static_cast<uint32_t>(info->si_value.sival_int)) return;
  uint32_t expected = CaptureSlot::kRequested;
  if (!slot->state.compare_exchange_strong(expected, CaptureSlot::kCopying)) return;

  RawStack& stack = slot->stack;
  ReadContext(user_context, &stack.registers);
  stack.address = stack.registers.stack_pointer() - kRedZoneBytes;
  stack.end = FindStackEnd(stack.registers.stack_pointer(), slot->regions, slot->region_count);
  uint64_t live_bytes = stack.end - stack.address;
  stack.size_bytes = live_bytes < kMaxRawStackBytes ? live_bytes : kMaxRawStackBytes;
  CopyBytes(stack.bytes, stack.address, stack.size_bytes);
  slot->state.store(CaptureSlot::kDone, std::memory_order_release);  // publishes the copy
}

}  // namespace lagwatch::stack
