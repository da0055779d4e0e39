// SPDX-License-Identifier: Apache-2.0
// A frame while a stack is walked: the registers that are known of it. Context: any (plain data).
#pragma once

#include <cstdint>

#include "stack/frames/raw_stack.h"

namespace lagwatch::stack {

struct Cursor {
  uint64_t program_counter;
  uint64_t stack_pointer;
  uint64_t frame_pointer;
  uint64_t base_pointer;
  bool is_frame_pointer_known;
  bool is_base_pointer_known;
  const Registers* registers;  // null for callers, except one that a signal interrupted

  bool ReadRegister(uint64_t dwarf_register, uint64_t* value) const {
    switch (dwarf_register) {
      case Registers::kStackPointer:
        *value = stack_pointer;
        return true;
      case Registers::kProgramCounter:
        *value = program_counter;
        return true;
      case Registers::kFramePointer:
        *value = frame_pointer;
        return is_frame_pointer_known;
      case Registers::kBasePointer:
        *value = base_pointer;
        return is_base_pointer_known;
      default:
        if (registers == nullptr || !registers->is_known(static_cast<int>(dwarf_register))) return false;
        *value = registers->value[dwarf_register];
        return true;
    }
  }

  // By what the rule is looked up. A return address may be the first byte of the next function: a caller's
  // rule is that of the call before it.
  uint64_t end_of_call() const { return program_counter + (registers != nullptr ? 1 : 0); }

  static Cursor At(const Registers& registers) {
    return {registers.program_counter(),
            registers.stack_pointer(),
            registers.value[Registers::kFramePointer],
            registers.value[Registers::kBasePointer],
            registers.is_known(Registers::kFramePointer),
            registers.is_known(Registers::kBasePointer),
            &registers};
  }
};

}  // namespace lagwatch::stack
