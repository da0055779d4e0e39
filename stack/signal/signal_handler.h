// SPDX-License-Identifier: Apache-2.0
// The part of a capture that runs in a signal handler on the application's thread: copy the registers and the
// live stack into a slot, and return. Nothing else: no lock, no allocation, no library function, and no
// system call where it is certain that all of the stack is there. See docs/design/capture.md.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "stack/frames/raw_stack.h"
#include "stack/signal/thread_block.h"

namespace lagwatch::stack {

// The handler that a signal had before ours, which receives foreign signals.
struct PreviousAction {
  int signal_number;
  bool is_given_back;  // not by the handler
  struct sigaction action;
};

// One capture at a time is asked for through a slot; each capturer has its own.
//
// Thread safety: the capturer asks, the handler answers; `request` hands the other members over. Invariants:
// - A request is a ticket never used before and its state, in one word: only the handler whose signal carries
//   that ticket can take it to kCopying, so a late signal does nothing.
// - While kCopying, the handler alone writes `stack`. It ends with kDone and never touches the slot again.
struct CaptureSlot {
  enum SlotState : uint64_t { kIdle, kRequested, kCopying, kDone };

  static constexpr uint64_t Request(uint32_t ticket, SlotState state) {
    return uint64_t{ticket} << 2 | state;
  }
  static constexpr uint32_t TicketOf(uint64_t request) { return static_cast<uint32_t>(request >> 2); }
  static constexpr SlotState StateOf(uint64_t request) { return static_cast<SlotState>(request & 3); }

  // The value of our signals: ticket and slot, marked, so that a late one differs from a foreign one; and
  // whether the thread was known to sleep when the signal was sent.
  void* SignalValue(uint32_t ticket, bool was_asleep = false) const {
    return reinterpret_cast<void*>(kMark | (was_asleep ? kAsleepBit : 0) | uint64_t{index} << kIndexShift |
                                   ticket);
  }
  static bool IsMarked(const siginfo_t& info) {
    return info.si_code == SI_QUEUE &&
           (ValueOf(info) & ~(kAsleepBit | kIndexMask << kIndexShift | kTicketMask)) == kMark;
  }
  static bool WasAsleep(const siginfo_t& info) { return (ValueOf(info) & kAsleepBit) != 0; }
  static uint32_t IndexOf(const siginfo_t& info) {
    return static_cast<uint32_t>(ValueOf(info) >> kIndexShift & kIndexMask);
  }
  static uint32_t TicketOf(const siginfo_t& info) {
    return static_cast<uint32_t>(ValueOf(info) & kTicketMask);
  }

  static constexpr size_t kMaxRegions = 8192;
  static constexpr uint64_t kTicketMask = 0xffff'ffff;
  static constexpr int kIndexShift = 32;
  static constexpr uint64_t kIndexMask = 0x7f;
  static constexpr uint64_t kAsleepBit = uint64_t{1} << 39;
  static constexpr uint64_t kMark = 0x6c61'6700'0000'0000;

  std::atomic<uint64_t> request{Request(0, kIdle)};
  uint32_t index = 0;  // among the slots; unchanged while it is taken
  int process_id = 0;  // whose signals may answer
  // Unchanged while kRequested or kCopying.
  StackRegions stacks{};
  MemoryRegion regions[kMaxRegions];  // those of `stacks`
  // Written with `stack`: how long the handler kept the thread.
  uint64_t pause_ticks = 0;
  RawStack stack;

 private:
  static uint64_t ValueOf(const siginfo_t& info) {
    return reinterpret_cast<uint64_t>(info.si_value.sival_ptr);
  }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "not signal-safe");

// The handler's data: the slots for its answers, and the previous handlers of its signals.
struct CaptureSlots {
  static constexpr uint32_t kMaxSlots = 32;
  static constexpr uint32_t kMaxSignals = 8;

  // Null until the first use. A slot is never freed: a late signal may still look at it.
  std::atomic<CaptureSlot*> slots[kMaxSlots]{};
  // Unchanged while the handler is installed: where it finds the thread's own stack.
  ThreadBlockLayout thread_block;
  // For each signal that ever had our handler: a handler that was installed on top of ours may still call it.
  // An entry that is counted is changed only while its signal has another handler than ours.
  PreviousAction previous[kMaxSignals]{};
  std::atomic<uint32_t> previous_count{0};
};
static_assert(std::atomic<CaptureSlot*>::is_always_lock_free, "not signal-safe");

extern CaptureSlots g_capture_slots;

// The value of a timer's signal of ours, which makes the thread capture its own stack.
inline constexpr uint64_t kTimerMark = 0x6c61'6777'7469'6d65;
// Does that, with the registers that the thread was interrupted with. Context: signal.
using TimerAction = void (*)(const Registers& registers);
// It is left out where an alternate signal stack has less room.
inline constexpr uint64_t kTimerActionBytes = 8 * 1024;
extern std::atomic<TimerAction> g_timer_action;  // null: such signals do nothing
static_assert(std::atomic<TimerAction>::is_always_lock_free, "not signal-safe");

// To be installed with SA_SIGINFO; the signal's value is a slot's SignalValue(ticket). Other signals go to
// the previous handler, if there was one. Context: signal.
void HandleCaptureSignal(int signal_number, siginfo_t* info, void* user_context) noexcept;

// Whether lagwatch sent that signal, or one of its timers. Context: signal.
bool IsOwnSignal(const siginfo_t& info);

}  // namespace lagwatch::stack
