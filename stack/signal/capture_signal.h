// SPDX-License-Identifier: Apache-2.0
// The part of a capture that runs in a signal handler on the application's thread: copy the registers and the
// live stack into a slot, and return. Nothing else: no lock, no allocation, no library function, and no
// system call where it is certain that all of the stack is there. See docs/design/capture.md.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "stack/raw_stack.h"
#include "stack/signal/thread_block.h"

namespace lagwatch::stack {

// Whose handler a signal had before ours, which gets what is not ours.
struct PreviousAction {
  int signal_number;
  bool is_given_back;  // not by the handler
  struct sigaction action;
};

// One capture at a time is asked for through a slot.
//
// Thread safety: the watchdog asks, the handler answers; `request` hands the other members over.
// Invariants:
// - A request is a ticket never used before and its state, in one word: only the handler whose signal carries
//   that ticket can take it to kCopying, so a late signal does nothing.
// - While kCopying, the handler alone writes `stack`. It ends with kDone and never touches the slot again.
struct CaptureSlot {
  enum State : uint64_t { kIdle, kRequested, kCopying, kDone };

  static constexpr uint64_t Request(uint32_t ticket, State state) { return uint64_t{ticket} << 2 | state; }
  static constexpr uint32_t TicketOf(uint64_t request) { return static_cast<uint32_t>(request >> 2); }
  static constexpr State StateOf(uint64_t request) { return static_cast<State>(request & 3); }

  // What a signal of ours carries: its ticket, marked, so that a late one is told from a foreign one.
  static void* SignalValue(uint32_t ticket) { return reinterpret_cast<void*>(kMark | ticket); }
  bool HasSent(const siginfo_t& info) const {
    return info.si_code == SI_QUEUE && info.si_pid == process_id &&
           (reinterpret_cast<uint64_t>(info.si_value.sival_ptr) & ~kTicketMask) == kMark;
  }
  static uint32_t TicketOf(const siginfo_t& info) {
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(info.si_value.sival_ptr) & kTicketMask);
  }

  static constexpr size_t kMaxRegions = 8192;
  static constexpr uint64_t kTicketMask = 0xffff'ffff;
  static constexpr uint64_t kMark = 0x6c61'6777'0000'0000;

  std::atomic<uint64_t> request{Request(0, kIdle)};
  std::atomic<bool> is_taken{false};  // there is a capturer; not the handler's concern
  int process_id = 0;
  // Unchanged while the handler is installed: where it finds the thread's own stack.
  ThreadBlockLayout thread_block;
  // Of each signal that ever had our handler: where somebody else put another on top of ours, that may still
  // call ours. An entry that is counted is changed only while its signal has another handler than ours.
  static constexpr uint32_t kMaxSignals = 8;
  PreviousAction previous[kMaxSignals]{};
  std::atomic<uint32_t> previous_count{0};
  // Unchanged while kRequested or kCopying.
  StackRegions stacks{};
  MemoryRegion regions[kMaxRegions];  // those of `stacks`
  // Written with `stack`: how long the handler kept the thread.
  uint64_t pause_ticks = 0;
  RawStack stack;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "not signal-safe");

// The slot that the handler answers through, null when there is none. A slot that was once set is never
// freed: a late signal may still look at it.
extern std::atomic<CaptureSlot*> g_capture_slot;
static_assert(std::atomic<CaptureSlot*>::is_always_lock_free, "not signal-safe");

// To be installed with SA_SIGINFO; the signal's value is SignalValue(ticket). Other signals go to the
// previous handler, if there was one. Context: signal.
void HandleCaptureSignal(int signal_number, siginfo_t* info, void* user_context) noexcept;

}  // namespace lagwatch::stack
