// SPDX-License-Identifier: Apache-2.0
#include <ucontext.h>

#include "stack/signal/context.h"

namespace lagwatch::stack {

void ReadContext(const void* user_context, Registers* registers) noexcept {
  // The kernel's order of the registers, listed in DWARF's.
  static constexpr int kDwarfOrder[Registers::kCount] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
  };
  const auto& saved = static_cast<const ucontext_t*>(user_context)->uc_mcontext.gregs;
  for (int i = 0; i < Registers::kCount; ++i)
    registers->value[i] = static_cast<uint64_t>(saved[kDwarfOrder[i]]);
  registers->known_mask = Registers::kAllKnown;
}

void CopyBytes(char* destination, uint64_t source_address, uint64_t size_bytes) noexcept {
  asm volatile("rep movsb" : "+D"(destination), "+S"(source_address), "+c"(size_bytes) : : "memory");
}

}  // namespace lagwatch::stack
