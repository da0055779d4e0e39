// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <sys/user.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "tools/core/core_registers.h"

namespace lagwatch::tools {
namespace {

user_regs_struct RegistersOf(const CoreThread& thread) {
  user_regs_struct registers;
  static_assert(sizeof registers == sizeof thread.registers);
  std::memcpy(&registers, thread.registers, sizeof registers);
  return registers;
}

}  // namespace

uint16_t ReadableMachine() { return EM_X86_64; }

bool SleptInCall(const CoreThread& thread) {
  // The kernel's include/linux/errno.h: ERESTARTSYS and its kin, never seen by programs.
  constexpr int64_t kInterrupted[] = {-EINTR, -512, -513, -514, -516};
  const user_regs_struct at = RegistersOf(thread);
  return static_cast<int64_t>(at.orig_rax) >= 0 &&
         std::ranges::find(kInterrupted, static_cast<int64_t>(at.rax)) != std::end(kInterrupted);
}

std::string CallText(const CoreThread& thread) {
  const user_regs_struct at = RegistersOf(thread);
  char text[256];
  std::snprintf(text, sizeof text, "%llu 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx\n",
                at.orig_rax, at.rdi, at.rsi, at.rdx, at.r10, at.r8, at.r9, at.rsp, at.rip);
  return text;
}

uint64_t StackPointerOf(const CoreThread& thread) { return RegistersOf(thread).rsp; }
uint64_t ProgramCounterOf(const CoreThread& thread) { return RegistersOf(thread).rip; }

}  // namespace lagwatch::tools
