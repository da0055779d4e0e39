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
  constexpr timespec kLongest{.tv_sec = 0, .tv_nsec = base::kNsPerMs};
  const int64_t deadline_ns = base::SystemClock().MonoNs() + timeout_ns;
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGCHLD);
  while (base::SystemClock().MonoNs() < deadline_ns) {
    const pid_t found = waitpid(tid, status, __WALL | WNOHANG);
    if (found == tid) return WIFSTOPPED(*status) ? Stopping::kStopped : Stopping::kEnded;
    if (found < 0) return Stopping::kEnded;
    sigtimedwait(&stops, nullptr,
                 &kLongest);  // ends as soon as the thread stops, where the signal is blocked
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
