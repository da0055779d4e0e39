// SPDX-License-Identifier: Apache-2.0
// The calling thread's registers, for a walk of its own stack. Context: any, signal included (plain data).
#pragma once

#include <cstdint>

namespace lagwatch::stack {

// A function at one of its calls: what a return from there finds.
struct OwnFrame {
  uint64_t program_counter;
  uint64_t stack_pointer;
  uint64_t frame_pointer;
  uint64_t base_pointer = 0;  // Registers::kBasePointer; 0 where it is not known

  // The function that contains this call, however it was compiled: its unwind rules have the rest.
  [[gnu::always_inline]] static inline OwnFrame Here();
};

#if defined(__x86_64__)
inline OwnFrame OwnFrame::Here() {
  OwnFrame frame;
  asm volatile(
      "leaq 0f(%%rip), %0\n"
      "0:\n"
      "movq %%rsp, %1\n"
      "movq %%rbp, %2\n"
      "movq %%rbx, %3\n"
      : "=&r"(frame.program_counter), "=&r"(frame.stack_pointer), "=&r"(frame.frame_pointer),
        "=&r"(frame.base_pointer));
  return frame;
}
#elif defined(__aarch64__)
inline OwnFrame OwnFrame::Here() {
  OwnFrame frame;
  asm volatile(
      "adr %0, 0f\n"
      "0:\n"
      "mov %1, sp\n"
      "mov %2, x29\n"
      "mov %3, x19\n"
      : "=&r"(frame.program_counter), "=&r"(frame.stack_pointer), "=&r"(frame.frame_pointer),
        "=&r"(frame.base_pointer));
  return frame;
}
#endif

}  // namespace lagwatch::stack
