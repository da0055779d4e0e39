// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <sys/uio.h>
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

uint64_t CopyReadable(int process_id, uint64_t source_address, char* destination,
                      uint64_t size_bytes) noexcept {
  iovec local{destination, size_bytes};
  iovec remote{reinterpret_cast<void*>(source_address), size_bytes};
  register int64_t number asm("x8") = SYS_process_vm_readv;
  register int64_t result asm("x0") = process_id;
  register uint64_t local_vectors asm("x1") = reinterpret_cast<uint64_t>(&local);
  register uint64_t local_count asm("x2") = 1;
  register uint64_t remote_vectors asm("x3") = reinterpret_cast<uint64_t>(&remote);
  register uint64_t remote_count asm("x4") = 1;
  register uint64_t flags asm("x5") = 0;
  asm volatile("svc #0"
               : "+r"(result)
               : "r"(number), "r"(local_vectors), "r"(local_count), "r"(remote_vectors), "r"(remote_count),
                 "r"(flags)
               : "memory");
  return result < 0 ? 0 : static_cast<uint64_t>(result);
}

}  // namespace lagwatch::stack
