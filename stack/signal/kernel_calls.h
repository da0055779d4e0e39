// SPDX-License-Identifier: Apache-2.0
// System calls of the capture handler, without the C library and its errno. Context: signal.
#pragma once

#include <csignal>
#include <cstdint>

namespace lagwatch::stack {

// Bit n - 1 is signal n, as in the kernel's masks.
using SignalSet = uint64_t;
constexpr SignalSet SignalBit(int signal_number) { return SignalSet{1} << (signal_number - 1); }
inline constexpr int kMaxSignalNumber = 64;
// Raised by a thread's own faults, whatever it blocks.
inline constexpr SignalSet kFaultSignals = SignalBit(SIGSEGV) | SignalBit(SIGBUS) | SignalBit(SIGFPE) |
                                           SignalBit(SIGILL) | SignalBit(SIGTRAP) | SignalBit(SIGSYS) |
                                           SignalBit(SIGABRT);

// Copies up to the first page of this process that cannot be read, and returns how much; 0 where
// that is forbidden.
uint64_t CopyReadable(uint64_t source_address, char* destination, uint64_t size_bytes) noexcept;

// Of those that the calling thread blocks, which wait for it, or for any thread. All, if that is not known.
SignalSet PendingSignals() noexcept;

// Whether the process handles that signal, and the signals blocked meanwhile. True, and all, if unknown.
bool IsHandled(int signal_number, SignalSet* blocked_meanwhile) noexcept;

// Ends the process by the default action of the signal whose handler runs, once that handler,
// `handler_address`, returns. Does nothing if the process has another action for the signal by now.
void TakeDefaultAction(int signal_number, const siginfo_t& info, uint64_t handler_address) noexcept;

}  // namespace lagwatch::stack
