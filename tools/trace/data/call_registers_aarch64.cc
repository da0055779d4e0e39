// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include "tools/trace/data/call_registers.h"

namespace lagwatch::tools {

const int kVectorRegisters = NT_FPREGSET;

uint64_t StackPointerOf(const ThreadRegisters& registers) { return registers.sp; }
uint64_t ProgramCounterOf(const ThreadRegisters& registers) { return registers.pc; }
uint64_t ResultOf(const ThreadRegisters& registers) { return registers.regs[0]; }

bool PrepareCall(uint64_t function, const std::vector<uint64_t>& arguments, uint64_t stack_pointer,
                 ThreadRegisters* registers, uint64_t* return_slot) {
  for (size_t i = 0; i < arguments.size() && i < kMostCallArguments; ++i) registers->regs[i] = arguments[i];
  registers->pc = function;
  registers->sp = stack_pointer;
  registers->regs[29] = 0;
  registers->regs[30] = 0;
  *return_slot = 0;
  return true;
}

void MakeSyscallAgain(uint64_t number, uint64_t first_argument, ThreadRegisters* registers) {
  constexpr uint64_t kInstructionBytes = 4;
  registers->regs[8] = number;
  registers->regs[0] = first_argument;
  registers->pc -= kInstructionBytes;
}

}  // namespace lagwatch::tools
