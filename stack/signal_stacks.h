// SPDX-License-Identifier: Apache-2.0
// The threads whose alternate signal stack (sigaltstack(2)) has no room for a handler of lagwatch's. The
// kernel's signal frame alone may exceed such a stack (2.7 KiB with AVX, 3.6 KiB with AVX-512, 11 KiB with
// AMX), and the kernel then ends the process by SIGSEGV. So these threads get no signal. The kernel shows a
// thread's alternate stack to no other thread: each notes its own. See docs/design/capture.md.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace lagwatch::stack {

// Thread safety: all from any thread.
// Invariants: a thread is in the table before its small stack is in use, and no signal that was sent before
// is still under way to it then.
class SignalStacks {
 public:
  static constexpr size_t kMaxSmall = 1024;

  // The smallest size of an alternate stack: the kernel's frame, as it reports it (AT_MINSIGSTKSZ), plus the
  // capture handler's needs.
  static size_t NeededBytes();
  static bool IsSmall(const stack_t& stack);

  // sigaltstack(2) of the calling thread by way of `real`, which is the C library's. Context: any, signal.
  using SetStack = int (*)(const stack_t* stack, stack_t* previous);
  static int Set(const stack_t* stack, stack_t* previous, SetStack real);
  // For the child of a fork(), whose only thread has another id than in the parent. Context: background.
  static void ForgetInForkedChild();
  // Asks the kernel for the calling thread's, where Set() was not in the way: one system call. Context: any.
  static void NoteOwn();

  // Whether thread `tid` must get no signal. Context: watchdog.
  static bool MustNotSignal(int tid);
  // Around each signal to thread `tid`, by capturer number `sender`: false when it must get
  // none. Context: watchdog.
  static bool TryBeginSend(uint32_t sender, int tid);
  static void EndSend(uint32_t sender);

  // Timer `timer_id` (timer_create(2)) is about to signal thread `tid`, which deletes it before its stack
  // becomes small. False when the thread must get no signal, or there is no room: then the caller deletes the
  // timer. Context: background.
  static bool TryAddTimer(int tid, int timer_id);
  // False when the thread has deleted the timer. Context: background.
  static bool RemoveTimer(int tid, int timer_id);
};

}  // namespace lagwatch::stack
