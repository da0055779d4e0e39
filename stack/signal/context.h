// SPDX-License-Identifier: Apache-2.0
// The processor-specific part of the capture handler. Implemented once per architecture, chosen by CMake.
#pragma once

#include <cstdint>

#include "stack/frames/raw_stack.h"

namespace lagwatch::stack {

// Copies all registers out of the ucontext_t that a handler got. Context: signal.
void ReadContext(const void* user_context, Registers* registers) noexcept;

// The calling thread's: it points to the C library's control block of the thread. Context: signal.
uint64_t ReadThreadPointer() noexcept;

// Copies memory that is certain to be there. `destination` is aligned by 16. Context: signal.
void CopyMapped(uint64_t source_address, char* destination, uint64_t size_bytes) noexcept;

// A system call made without the C library and its errno; what the kernel answers. Context: signal.
int64_t CallKernel(int64_t number, const uint64_t (&arguments)[6]) noexcept;

}  // namespace lagwatch::stack
