// SPDX-License-Identifier: Apache-2.0
// The real-time signal that all capturers of a process share, its handler, and the slots that it answers
// through. See docs/design/capture.md.
#pragma once

#include <csignal>

#include "base/status.h"
#include "stack/signal/signal_handler.h"

namespace lagwatch::stack {

// Thread safety: all from any thread; what changes handlers takes a lock of its own, a capture does not.
// Invariants: the handler is installed while there is a capturer, and each capturer has a slot to itself.
class CaptureSignalOwner {
 public:
  struct Signal {
    int number;           // 0: none, until a program that handles all real-time signals gives one up
    bool restarts_calls;  // not where the application's own handler of that signal does not
  };
  struct Kept {
    bool was_lost;  // another handler was found in its place, for the first time
    bool is_moved;  // another signal was taken instead
    bool is_ours;   // there is a signal that has our handler
  };

  // Returns a slot for one more capturer. `wanted_number` 0: the signal that other capturers use already, or
  // an unused one; if there is none, signal().number stays 0 until Keep() finds one. Errors: kUnavailable if
  // the wanted signal's handler cannot be installed, if other capturers use another signal, or if there are
  // too many capturers or no memory; kInvalid if there is no such signal. Context: background.
  static base::Result<CaptureSlot*> Join(int wanted_number);
  // The last one restores the signals, except those whose handlers were replaced. Context: background.
  static void Leave(CaptureSlot* slot);
  // For the child of a fork(), whose threads but one are gone: gives the signals and all slots back without
  // waiting for a lock. Context: background.
  static void AbandonInForkedChild();

  // The one in use. Context: watchdog.
  static Signal signal();
  // Whether that signal has our handler. Context: watchdog (one system call).
  static bool Owns(int signal_number);
  // The program has made a descriptor that signals of the set are read from (signalfd(2)). Context: signal.
  static void NoteRead(const sigset_t& signals);
  // Whether it has for that signal. Context: watchdog.
  static bool IsRead(int signal_number);
  // If the program replaced the handler, takes another, unused signal; the program's handler stays unchanged.
  // Context: watchdog (one system call in the usual case).
  static Kept Keep();
};

}  // namespace lagwatch::stack
