// SPDX-License-Identifier: Apache-2.0
#include <ucontext.h>

#include <csignal>
#include <cstddef>
#include <cstring>

#include "stack/unwind/processor.h"

namespace lagwatch::stack {

const uint64_t kSignalReturnCallOffset = 7;

bool IsSignalReturn(const unsigned char (&code)[kMaxCodeBytes]) {
  constexpr unsigned char kSystemCall15[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
  return std::memcmp(code, kSystemCall15, sizeof kSystemCall15) == 0;
}

uint64_t SignalFrameOffset(int dwarf_register) {
  static constexpr int kKernelOrder[Registers::kCount] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
  };
  return offsetof(ucontext_t, uc_mcontext.gregs) + 8 * static_cast<uint64_t>(kKernelOrder[dwarf_register]);
}

}  // namespace lagwatch::stack
