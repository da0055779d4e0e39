// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "base/process/core_image.h"
#include "stack/stopped_thread.h"

namespace lagwatch::stack {
namespace {

#if defined(__x86_64__)
void Take(const user_regs_struct& user, Registers* registers) {
  // In DWARF's order: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip.
  const unsigned long long values[Registers::kCount] = {
      user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
      user.r9,  user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip};
  for (int i = 0; i < Registers::kCount; ++i) registers->value[i] = values[i];
}
#elif defined(__aarch64__)
void Take(const user_regs_struct& user, Registers* registers) {
  for (int i = 0; i < Registers::kStackPointer; ++i) registers->value[i] = user.regs[i];
  registers->value[Registers::kStackPointer] = user.sp;
  registers->value[Registers::kProgramCounter] = user.pc;
}
#endif

}  // namespace

StoppedThread::StoppedThread(int32_t tid, int64_t timeout_ns) : tid_(tid) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
    // Another process traces it, or the kernel does not permit this one to.
    reason_ = errno == ESRCH ? NoStackReason::kGone : NoStackReason::kHidden;
    return;
  }
  is_seized_ = true;
  is_stopped_ = ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0 && AwaitStop(timeout_ns);
  if (!is_stopped_) reason_ = NoStackReason::kNoAnswer;
}

// A seized thread that stops later would stay so: only a stopped one can be let go, so it is waited for.
StoppedThread::~StoppedThread() {
  while (is_seized_ && !is_stopped_) is_stopped_ = AwaitStop(base::kNsPerSecond);
  if (is_seized_) ptrace(PTRACE_DETACH, tid_, nullptr, static_cast<unsigned long>(pending_signal_));
}

bool StoppedThread::AwaitStop(int64_t timeout_ns) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000};
  const base::Clock& clock = base::SystemClock();
  const int64_t deadline_ns = clock.MonoNs() + timeout_ns;
  for (;;) {
    int status = 0;
    const pid_t found = waitpid(tid_, &status, __WALL | WNOHANG);
    if (found < 0 || (found == tid_ && !WIFSTOPPED(status))) {  // it has ended
      is_seized_ = false;
      return false;
    }
    if (found == tid_) {
      const bool is_ours = status >> 16 == PTRACE_EVENT_STOP;
      pending_signal_ = is_ours ? 0 : WSTOPSIG(status);  // a signal came first: handed over when it is let go
      return true;
    }
    if (clock.MonoNs() >= deadline_ns) return false;
    nanosleep(&kPause, nullptr);
  }
}

bool StoppedThread::ReadRegisters(Registers* registers) const {
  user_regs_struct user{};
  iovec buffer{&user, sizeof user};
  if (ptrace(PTRACE_GETREGSET, tid_, NT_PRSTATUS, &buffer) != 0) return false;
  Take(user, registers);
  registers->known_mask = Registers::kAllKnown;
  return true;
}

bool ReadSavedRegisters(const base::Thread& thread, Registers* registers) {
  user_regs_struct user{};
  const base::CoreImage* core = thread.process.core();
  if (core == nullptr || !core->ReadRegisters(thread.tid, &user, sizeof user)) return false;
  Take(user, registers);
  registers->known_mask = Registers::kAllKnown;
  return true;
}

}  // namespace lagwatch::stack
