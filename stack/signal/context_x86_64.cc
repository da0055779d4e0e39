// SPDX-License-Identifier: Apache-2.0
#include <emmintrin.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "stack/signal/context.h"

namespace lagwatch::stack {
namespace {

constexpr uint64_t kLineBytes = 64;  // of the processor's caches

}  // namespace

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

uint64_t ReadThreadPointer() noexcept {
  uint64_t thread_pointer;
  asm("mov %%fs:0, %0" : "=r"(thread_pointer));
  return thread_pointer;
}

void CopyMapped(uint64_t source_address, char* destination, uint64_t size_bytes) noexcept {
  // Past the caches: the lines of `destination` are in those of the watchdog's processor, and to take them
  // back from there would cost this thread more than the copy itself.
  const auto* from = reinterpret_cast<const char*>(source_address);
  uint64_t done = 0;
  for (; done + kLineBytes <= size_bytes; done += kLineBytes) {
    for (uint64_t i = 0; i < kLineBytes; i += sizeof(__m128i)) {
      __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + done + i));
      _mm_stream_si128(reinterpret_cast<__m128i*>(destination + done + i), words);
    }
  }
  _mm_sfence();
  for (; done < size_bytes; ++done) destination[done] = from[done];
}

uint64_t CopyReadable(int process_id, uint64_t source_address, char* destination,
                      uint64_t size_bytes) noexcept {
  iovec local{destination, size_bytes};
  iovec remote{reinterpret_cast<void*>(source_address), size_bytes};
  int64_t result = SYS_process_vm_readv;
  register uint64_t remote_count asm("r8") = 1;
  register uint64_t remote_vectors asm("r10") = reinterpret_cast<uint64_t>(&remote);
  register uint64_t flags asm("r9") = 0;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(static_cast<int64_t>(process_id)), "S"(&local), "d"(uint64_t{1}), "r"(remote_vectors),
                 "r"(remote_count), "r"(flags)
               : "rcx", "r11", "memory");
  return result < 0 ? 0 : static_cast<uint64_t>(result);
}

}  // namespace lagwatch::stack
