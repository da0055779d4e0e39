// SPDX-License-Identifier: Apache-2.0
// The registers of a call in the calling thread, from which its own stack is walked.
// Context: any, signal included (plain data).
#pragma once

#include <cstdint>

namespace lagwatch::stack {

// A function at one of its calls: what a return from there finds.
struct CallRegisters {
  uint64_t program_counter;
  uint64_t stack_pointer;
  uint64_t frame_pointer;
  uint64_t base_pointer = 0;  // Registers::kBasePointer; 0 where it is not known

  // The function that contains this call, however it was compiled: its unwind rules have the rest.
  [[gnu::always_inline]] static inline CallRegisters Here();
};

#if defined(__x86_64__)
inline CallRegisters CallRegisters::Here() {
  CallRegisters registers;
  asm volatile(
      "leaq 0f(%%rip), %0\n"
      "0:\n"
      "movq %%rsp, %1\n"
      "movq %%rbp, %2\n"
      "movq %%rbx, %3\n"
      : "=&r"(registers.program_counter), "=&r"(registers.stack_pointer), "=&r"(registers.frame_pointer),
        "=&r"(registers.base_pointer));
  return registers;
}
#elif defined(__aarch64__)
inline CallRegisters CallRegisters::Here() {
  CallRegisters registers;
  asm volatile(
      "adr %0, 0f\n"
      "0:\n"
      "mov %1, sp\n"
      "mov %2, x29\n"
      "mov %3, x19\n"
      : "=&r"(registers.program_counter), "=&r"(registers.stack_pointer), "=&r"(registers.frame_pointer),
        "=&r"(registers.base_pointer));
  return registers;
}
#endif

}  // namespace lagwatch::stack
