// SPDX-License-Identifier: Apache-2.0
// The part of a capture that runs in a signal handler on the application's thread: copy the registers and the
// live stack into a slot, and return. Nothing else: no system call, no lock, no allocation, no library
// function.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "stack/raw_stack.h"

namespace lagwatch::stack {

// One capture at a time is asked for through a slot.
//
// Thread safety: the watchdog asks, the handler answers; `state` hands the other members over.
// Invariants:
// - kRequested is set only by the watchdog, with a ticket never used before; only the handler whose signal
// carries
//   that ticket may go on to kCopying, so a late or stray signal does nothing.
// - While kCopying, the handler alone writes `stack`. It ends with kDone and never touches the slot again.
struct CaptureSlot {
  enum State : uint32_t { kIdle, kRequested, kCopying, kDone };

  std::atomic<uint32_t> state{kIdle};
  std::atomic<uint32_t> ticket{0};
  const MemoryRegion* regions =
      nullptr;  // where stacks may lie, ascending; unchanged while kRequested or kCopying
  size_t region_count = 0;
  RawStack stack;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free, "not signal-safe");

// The slot that the handler answers through, null when there is none. A slot that was once set is never
// freed: a late signal may still look at it.
extern std::atomic<CaptureSlot*> g_capture_slot;
static_assert(std::atomic<CaptureSlot*>::is_always_lock_free, "not signal-safe");

// To be installed with SA_SIGINFO | SA_RESTART | SA_ONSTACK; the signal's integer value is the ticket.
// Context: signal.
void HandleCaptureSignal(int signal_number, siginfo_t* info, void* user_context) noexcept;

}  // namespace lagwatch::stack
