// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>

#include "stack/elf/function_symbol.h"
#include "tools/inject/call_registers.h"

namespace lagwatch::tools {

const int kVectorRegisters = NT_FPREGSET;
const long kPauseSyscall = SYS_ppoll;
const std::string_view kSignalReturnCode = stack::kSignalReturnArm;

uint64_t StackPointerOf(const ThreadRegisters& registers) { return registers.sp; }
uint64_t ProgramCounterOf(const ThreadRegisters& registers) { return registers.pc; }
uint64_t ResultOf(const ThreadRegisters& registers) { return registers.regs[0]; }
bool IsInThreadBlock(const std::vector<uint64_t>&, size_t, uint64_t) { return true; }
uint64_t SleepTimeOf(const ThreadRegisters& registers) { return registers.regs[2]; }

// Below the thread pointer.
uint64_t ThreadBlockOf(pid_t tid, const ThreadRegisters&) {
  uint64_t thread_pointer = 0;
  iovec piece{&thread_pointer, sizeof thread_pointer};
  const bool is_read = ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &piece) == 0;
  return is_read ? thread_pointer - kThreadBlockBytes : 0;
}

bool PrepareCall(uint64_t function, const std::vector<uint64_t>& arguments, uint64_t stack_pointer,
                 ThreadRegisters* registers, uint64_t* return_slot, uint64_t return_address) {
  for (size_t i = 0; i < arguments.size() && i < kMostCallArguments; ++i) registers->regs[i] = arguments[i];
  registers->pc = function;
  registers->sp = stack_pointer;
  registers->regs[29] = 0;
  registers->regs[30] = return_address;
  *return_slot = 0;
  return true;
}

void EndSyscall(ThreadRegisters* registers) { registers->regs[0] = static_cast<uint64_t>(-EINTR); }

void MakeSyscallAgain(uint64_t number, uint64_t first_argument, ThreadRegisters* registers) {
  constexpr uint64_t kInstructionBytes = 4;
  registers->regs[8] = number;
  registers->regs[0] = first_argument;
  registers->pc -= kInstructionBytes;
}

}  // namespace lagwatch::tools
