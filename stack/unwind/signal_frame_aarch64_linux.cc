// SPDX-License-Identifier: Apache-2.0
#include <ucontext.h>

#include <csignal>
#include <cstddef>
#include <cstring>

#include "stack/unwind/processor.h"

namespace lagwatch::stack {

const uint64_t kSignalReturnCallOffset = 4;

bool IsSignalReturn(const unsigned char (&code)[kMaxCodeBytes]) {
  constexpr uint32_t kSystemCall139[] = {0xd2801168, 0xd4000001};
  return std::memcmp(code, kSystemCall139, sizeof kSystemCall139) == 0;
}

uint64_t SignalFrameOffset(int dwarf_register) {
  uint64_t context = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext);
  if (dwarf_register == Registers::kStackPointer) return context + offsetof(mcontext_t, sp);
  if (dwarf_register == Registers::kProgramCounter) return context + offsetof(mcontext_t, pc);
  return context + offsetof(mcontext_t, regs) + 8 * static_cast<uint64_t>(dwarf_register);
}

}  // namespace lagwatch::stack
