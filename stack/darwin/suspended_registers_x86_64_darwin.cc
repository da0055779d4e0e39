// SPDX-License-Identifier: Apache-2.0
#include <mach/mach.h>

#include "stack/darwin/suspended_copy.h"

namespace lagwatch::stack {

bool ReadSuspendedRegisters(uint32_t thread_port, Registers* registers) noexcept {
  x86_thread_state64_t state;
  mach_msg_type_number_t count = x86_THREAD_STATE64_COUNT;
  if (thread_get_state(thread_port, x86_THREAD_STATE64, reinterpret_cast<thread_state_t>(&state), &count) !=
      KERN_SUCCESS) {
    return false;
  }
  const uint64_t in_dwarf_order[Registers::kCount] = {
      state.__rax, state.__rdx, state.__rcx, state.__rbx, state.__rsi, state.__rdi,
      state.__rbp, state.__rsp, state.__r8,  state.__r9,  state.__r10, state.__r11,
      state.__r12, state.__r13, state.__r14, state.__r15, state.__rip,
  };
  for (int i = 0; i < Registers::kCount; ++i) registers->value[i] = in_dwarf_order[i];
  registers->known_mask = Registers::kAllKnown;
  return true;
}

}  // namespace lagwatch::stack
