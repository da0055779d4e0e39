// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <sys/syscall.h>

#include <cerrno>

#include "stack/elf/function_symbol.h"
#include "tools/inject/call_registers.h"

namespace lagwatch::tools {

const int kVectorRegisters = NT_X86_XSTATE;
const long kPauseSyscall = SYS_pause;
const std::string_view kSignalReturnCode = stack::kSignalReturnX86;

uint64_t StackPointerOf(const ThreadRegisters& registers) { return registers.rsp; }
uint64_t ProgramCounterOf(const ThreadRegisters& registers) { return registers.rip; }
uint64_t ResultOf(const ThreadRegisters& registers) { return registers.rax; }
uint64_t ThreadBlockOf(pid_t, const ThreadRegisters& registers) { return registers.fs_base; }

// It begins with its own address, twice.
bool IsInThreadBlock(const std::vector<uint64_t>& words, size_t at, uint64_t address) {
  constexpr size_t kBlockWords = kThreadBlockBytes / sizeof(uint64_t);
  for (size_t i = at < kBlockWords ? 0 : at - kBlockWords; i + 2 < at; ++i) {
    const uint64_t own = address + i * sizeof(uint64_t);
    if (words[i] == own && words[i + 2] == own) return true;
  }
  return false;
}

uint64_t SleepTimeOf(const ThreadRegisters& registers) { return registers.rdx; }

bool PrepareCall(uint64_t function, const std::vector<uint64_t>& arguments, uint64_t stack_pointer,
                 ThreadRegisters* registers, uint64_t* return_slot, uint64_t) {
  unsigned long long* const places[] = {&registers->rdi, &registers->rsi, &registers->rdx,
                                        &registers->rcx, &registers->r8,  &registers->r9};
  for (size_t i = 0; i < arguments.size() && i < kMostCallArguments; ++i) *places[i] = arguments[i];
  registers->rip = function;
  registers->rax = 0;
  registers->eflags &= ~uint64_t{1 << 10};          // the direction flag
  registers->orig_rax = static_cast<uint64_t>(-1);  // no system call to make again on the way
  registers->rsp = stack_pointer - sizeof(uint64_t);
  *return_slot = registers->rsp;
  return false;
}

void EndSyscall(ThreadRegisters* registers) {
  registers->rax = static_cast<uint64_t>(-EINTR);
  registers->orig_rax = static_cast<uint64_t>(-1);
}

void MakeSyscallAgain(uint64_t number, uint64_t, ThreadRegisters* registers) {
  constexpr uint64_t kInstructionBytes = 2;
  registers->rax = number;
  registers->orig_rax = static_cast<uint64_t>(-1);  // the kernel need not do it
  registers->rip -= kInstructionBytes;
}

}  // namespace lagwatch::tools
