// SPDX-License-Identifier: Apache-2.0
// A stopped thread's registers, as a function call needs them. Implemented once per processor,
// chosen by CMake.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lagwatch::tools {

using ThreadRegisters = user_regs_struct;

inline constexpr size_t kMostCallArguments = 6;
extern const int kVectorRegisters;  // the register set that PTRACE_GETREGSET knows them as

uint64_t StackPointerOf(const ThreadRegisters& registers);
uint64_t ProgramCounterOf(const ThreadRegisters& registers);
uint64_t ResultOf(const ThreadRegisters& registers);
// The address of kThreadBlockBytes that hold what the C library knows of the thread: `pthread_t` leads there.
uint64_t ThreadBlockOf(pid_t tid, const ThreadRegisters& registers);
inline constexpr size_t kThreadBlockBytes = 4096;
// Whether words[at] may be in such a block; words[0] is at `address`.
bool IsInThreadBlock(const std::vector<uint64_t>& words, size_t at, uint64_t address);
// The address of the time that clock_nanosleep(2) was called with.
uint64_t SleepTimeOf(const ThreadRegisters& registers);

// Sets registers as at the first instruction of `function`, which is to return to `return_address`.
// `stack_pointer` is aligned by 16, and updated. Returns false if the return address must first be written to
// the stack, as a word at *return_slot.
bool PrepareCall(uint64_t function, const std::vector<uint64_t>& arguments, uint64_t stack_pointer,
                 ThreadRegisters* registers, uint64_t* return_slot, uint64_t return_address);

// The C library's code that signal handlers return to: a call of rt_sigreturn.
extern const std::string_view kSignalReturnCode;

// The number of the system call of pause(3).
extern const long kPauseSyscall;

// An interrupted system call fails with EINTR.
void EndSyscall(ThreadRegisters* registers);

// A system call that has just failed is made again: `number`, whose first argument is `first_argument`.
void MakeSyscallAgain(uint64_t number, uint64_t first_argument, ThreadRegisters* registers);

}  // namespace lagwatch::tools
