// SPDX-License-Identifier: Apache-2.0
#include <emmintrin.h>
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

int64_t CallKernel(int64_t number, const uint64_t (&arguments)[6]) noexcept {
  int64_t result = number;
  register uint64_t fourth asm("r10") = arguments[3];
  register uint64_t fifth asm("r8") = arguments[4];
  register uint64_t sixth asm("r9") = arguments[5];
  asm volatile("syscall"
               : "+a"(result)
               : "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace lagwatch::stack
