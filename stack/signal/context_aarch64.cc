// SPDX-License-Identifier: Apache-2.0
#include <ucontext.h>

#include "stack/signal/context.h"

namespace lagwatch::stack {

void ReadContext(const void* user_context, Registers* registers) noexcept {
  const auto& saved = static_cast<const ucontext_t*>(user_context)->uc_mcontext;
  for (int i = 0; i < 31; ++i) registers->value[i] = saved.regs[i];
  registers->value[Registers::kStackPointer] = saved.sp;
  registers->value[Registers::kProgramCounter] = saved.pc;
  registers->known_mask = Registers::kAllKnown;
}

void CopyBytes(char* destination, uint64_t source_address, uint64_t size_bytes) noexcept {
  const auto* source = reinterpret_cast<const volatile char*>(source_address);
  for (uint64_t i = 0; i < size_bytes; ++i) destination[i] = source[i];
}

}  // namespace lagwatch::stack
