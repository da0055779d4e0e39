// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <ctime>

#include "base/clock.h"
#include "tools/inject/traced_thread.h"

namespace lagwatch::tools {

Stopping AwaitStop(pid_t tid, int64_t timeout_ns, int* status) {
  // The thread's stop is short, if this is noticed soon.
  constexpr timespec kShortPause{.tv_sec = 0, .tv_nsec = 10'000};
  constexpr timespec kLongPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs};
  const base::Clock& clock = base::SystemClock();
  const int64_t begin_ns = clock.MonoNs();
  while (clock.MonoNs() < begin_ns + timeout_ns) {
    const pid_t found = waitpid(tid, status, __WALL | WNOHANG);
    if (found == tid) return WIFSTOPPED(*status) ? Stopping::kStopped : Stopping::kEnded;
    if (found < 0) return Stopping::kEnded;
    const bool is_young = clock.MonoNs() < begin_ns + 10 * base::kNsPerMs;
    nanosleep(is_young ? &kShortPause : &kLongPause, nullptr);
  }
  return Stopping::kLate;
}

bool ReadRegisters(pid_t tid, ThreadRegisters* registers) {
  iovec piece{registers, sizeof *registers};
  return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &piece) == 0;
}

bool WriteRegisters(pid_t tid, ThreadRegisters registers) {
  iovec piece{&registers, sizeof registers};
  return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &piece) == 0;
}

ScopedSignalBlock::ScopedSignalBlock() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

ScopedSignalBlock::~ScopedSignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace lagwatch::tools
