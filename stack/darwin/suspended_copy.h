// SPDX-License-Identifier: Apache-2.0
// Copies another thread's registers and stack while it is suspended. The thread may hold any lock of the
// process, so nothing that runs meanwhile takes one: only Mach calls (scripts/darwin checks the object's
// imports).
#pragma once

#include <cstdint>

#include "stack/frames/raw_stack.h"

namespace lagwatch::stack {

enum class SuspendedCopy : uint8_t {
  kCopied,
  kGone,        // the thread has ended
  kUnreadable,  // its stack pointer is in no readable memory
};

// `thread_port` must not be the caller's. Suspends it for as long as the copy takes. Context: watchdog.
SuspendedCopy CopySuspended(uint32_t thread_port, RawStack* raw) noexcept;

// The processor's part: all registers of a suspended thread; false when it is gone. Context: as above.
bool ReadSuspendedRegisters(uint32_t thread_port, Registers* registers) noexcept;

}  // namespace lagwatch::stack
