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

uint64_t ReadThreadPointer() noexcept {
  uint64_t thread_pointer;
  asm("mrs %0, tpidr_el0" : "=r"(thread_pointer));
  return thread_pointer;
}

void CopyMapped(uint64_t source_address, char* destination, uint64_t size_bytes) noexcept {
  const auto* from = reinterpret_cast<const uint64_t*>(source_address);
  auto* to = reinterpret_cast<uint64_t*>(destination);  // both are aligned: a stack pointer is, by 16
  for (uint64_t i = 0; i < size_bytes / sizeof *from; ++i) {
    to[i] = from[i];
    asm volatile("" ::: "memory");  // or the compiler would call memcpy
  }
}

int64_t CallKernel(int64_t number, const uint64_t (&arguments)[6]) noexcept {
  register int64_t call asm("x8") = number;
  register uint64_t result asm("x0") = arguments[0];
  register uint64_t second asm("x1") = arguments[1];
  register uint64_t third asm("x2") = arguments[2];
  register uint64_t fourth asm("x3") = arguments[3];
  register uint64_t fifth asm("x4") = arguments[4];
  register uint64_t sixth asm("x5") = arguments[5];
  asm volatile("svc #0"
               : "+r"(result)
               : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
               : "memory");
  return static_cast<int64_t>(result);
}

}  // namespace lagwatch::stack
