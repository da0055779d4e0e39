// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <string>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "tools/inject/traced_thread.h"

namespace lagwatch::tools {

ThreadSyscall ReadSyscall(pid_t pid, pid_t tid) {
  char text[256];
  const std::string path = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/syscall";
  const std::string line(base::ReadSmallFile(path.c_str(), text, sizeof text));
  if (line.starts_with("running")) return {.number = kInNoSyscall};
  ThreadSyscall found;
  if (std::sscanf(line.c_str(), "%ld %" SCNx64 " %*s %*s %*s %*s %*s %" SCNx64, &found.number,
                  &found.first_argument, &found.stack_pointer) == 3)
    return found;
  if (std::sscanf(line.c_str(), "-1 %" SCNx64, &found.stack_pointer) == 1) found.number = kInNoSyscall;
  return found;
}

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

ScopedPriority::ScopedPriority() {
  const sched_param first{.sched_priority = 1};
  is_raised_ = sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_FIFO, &first) == 0;
}

ScopedPriority::~ScopedPriority() {
  const sched_param standard{.sched_priority = 0};
  if (is_raised_) sched_setscheduler(0, SCHED_OTHER, &standard);
}

}  // namespace lagwatch::tools
