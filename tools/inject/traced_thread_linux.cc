// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "tools/inject/traced_thread.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kMostVectorBytes = 64 * 1024;
constexpr uint64_t kShortTurnNs = 100'000;  // the shortest that there are

// The kernel's sched_attr, which not all C libraries have.
struct Scheduling {
  uint32_t size = sizeof(Scheduling);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t turn_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

// Of the calling thread; 0: as long as usual. Older kernels leave them as they are.
void SetTurns(uint64_t turn_ns) {
  Scheduling own;
  if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) != 0 || own.policy != SCHED_OTHER) return;
  own.size = sizeof own;
  own.turn_ns = turn_ns;
  syscall(SYS_sched_setattr, 0, &own, 0);
}

// Those that the process has handlers for.
uint64_t CaughtSignalsOf(pid_t pid) { return std::strtoull(StatusField(pid, "SigCgt").c_str(), nullptr, 16); }

}  // namespace

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

int SignalOf(int status) { return status >> 16 != 0 ? 0 : WSTOPSIG(status); }

bool IsGroupStop(int status) { return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP; }

void Release(pid_t tid, int signal_number) {
  constexpr int64_t kPatienceNs = 2 * base::kNsPerSecond;
  while (ptrace(PTRACE_DETACH, tid, 0, signal_number) != 0) {
    int status = 0;
    ptrace(PTRACE_INTERRUPT, tid, 0, 0);
    if (AwaitStop(tid, kPatienceNs, &status) != Stopping::kStopped) return;
    signal_number = SignalOf(status);
  }
}

bool ReadRegisters(pid_t tid, ThreadRegisters* registers) {
  iovec piece{registers, sizeof *registers};
  return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &piece) == 0;
}

bool WriteRegisters(pid_t tid, ThreadRegisters registers) {
  iovec piece{&registers, sizeof registers};
  return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &piece) == 0;
}

// Takes memory beforehand, not while the thread is stopped.
ThreadState::ThreadState() : vectors(kMostVectorBytes) {}

bool ThreadState::Read(pid_t tid) {
  vectors.resize(kMostVectorBytes);
  iovec piece{vectors.data(), vectors.size()};
  if (!ReadRegisters(tid, &registers) || ptrace(PTRACE_GETREGSET, tid, kVectorRegisters, &piece) != 0 ||
      ptrace(PTRACE_GETSIGMASK, tid, sizeof signal_mask, &signal_mask) != 0)
    return false;
  vectors.resize(piece.iov_len);
  return true;
}

void ThreadState::Write(pid_t tid) const {
  WriteRegisters(tid, registers);
  iovec piece{const_cast<char*>(vectors.data()), vectors.size()};
  ptrace(PTRACE_SETREGSET, tid, kVectorRegisters, &piece);
  uint64_t mask = signal_mask;
  ptrace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask);
}

void BlockSignalsForCall(pid_t tid) {
  uint64_t mask = ~uint64_t{0};
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) mask &= ~(uint64_t{1} << (number - 1));
  ptrace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask);
}

bool IsSignalDue(pid_t pid, pid_t tid, uint64_t signal_mask) {
  for (const uint32_t flags : {uint32_t{0}, uint32_t{PTRACE_PEEKSIGINFO_SHARED}}) {
    __ptrace_peeksiginfo_args wanted{.off = 0, .flags = flags, .nr = 1};
    siginfo_t one;
    for (; ptrace(PTRACE_PEEKSIGINFO, tid, &wanted, &one) == 1; ++wanted.off) {
      const uint64_t bit = uint64_t{1} << (one.si_signo - 1);
      if ((signal_mask & bit) == 0 && (CaughtSignalsOf(pid) & bit) != 0) return true;
    }
  }
  return false;
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
  if (is_raised_) return;
  constexpr timespec kRest{.tv_sec = 0, .tv_nsec = 4 * base::kNsPerMs};
  SetTurns(kShortTurnNs);
  nanosleep(&kRest, nullptr);
}

ScopedPriority::~ScopedPriority() {
  const sched_param standard{.sched_priority = 0};
  if (is_raised_) {
    sched_setscheduler(0, SCHED_OTHER, &standard);
  } else {
    SetTurns(0);
  }
}

}  // namespace lagwatch::tools
