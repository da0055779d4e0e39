// SPDX-License-Identifier: Apache-2.0
// What depends on the processor in the capture handler. Implemented once per architecture, chosen by CMake.
#pragma once

#include <cstdint>

#include "stack/raw_stack.h"

namespace lagwatch::stack {

// Copies all registers out of the ucontext_t that a handler got. Context: signal.
void ReadContext(const void* user_context, Registers* registers) noexcept;

// Copies without calling memcpy, which sanitizers and preloaded libraries replace. Context: signal.
void CopyBytes(char* destination, uint64_t source_address, uint64_t size_bytes) noexcept;

}  // namespace lagwatch::stack
