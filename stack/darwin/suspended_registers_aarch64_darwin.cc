// SPDX-License-Identifier: Apache-2.0
#include <mach/mach.h>

#include "stack/darwin/suspended_copy.h"

namespace lagwatch::stack {

bool ReadSuspendedRegisters(uint32_t thread_port, Registers* registers) noexcept {
  constexpr int kGeneral = 29;  // x0 to x28
  arm_thread_state64_t state;
  mach_msg_type_number_t count = ARM_THREAD_STATE64_COUNT;
  if (thread_get_state(thread_port, ARM_THREAD_STATE64, reinterpret_cast<thread_state_t>(&state), &count) !=
      KERN_SUCCESS) {
    return false;
  }
  for (int i = 0; i < kGeneral; ++i) registers->value[i] = state.__x[i];
  registers->value[Registers::kFramePointer] = arm_thread_state64_get_fp(state);
  registers->value[Registers::kReturnAddress] = arm_thread_state64_get_lr(state);
  registers->value[Registers::kStackPointer] = arm_thread_state64_get_sp(state);
  registers->value[Registers::kProgramCounter] = arm_thread_state64_get_pc(state);
  registers->known_mask = Registers::kAllKnown;
  return true;
}

}  // namespace lagwatch::stack
