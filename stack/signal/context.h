// SPDX-License-Identifier: Apache-2.0
// What depends on the processor in the capture handler. Implemented once per architecture, chosen by CMake.
#pragma once

#include <cstdint>

#include "stack/raw_stack.h"

namespace lagwatch::stack {

// Copies all registers out of the ucontext_t that a handler got. Context: signal.
void ReadContext(const void* user_context, Registers* registers) noexcept;

// The calling thread's: it points to the C library's control block of the thread. Context: signal.
uint64_t ReadThreadPointer() noexcept;

// Copies memory that is certain to be there. `destination` is aligned by 16. Context: signal.
void CopyMapped(uint64_t source_address, char* destination, uint64_t size_bytes) noexcept;

// process_vm_readv(2) on the own process, made without the C library and its errno: copies up to the first
// page that cannot be read, and returns how much; 0 where the call is forbidden. Context: signal.
uint64_t CopyReadable(int process_id, uint64_t source_address, char* destination,
                      uint64_t size_bytes) noexcept;

}  // namespace lagwatch::stack
