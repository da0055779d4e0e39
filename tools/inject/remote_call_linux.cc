// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "tools/inject/call_registers.h"
#include "tools/inject/call_safety.h"
#include "tools/inject/remote_call.h"
#include "tools/inject/thread_places.h"
#include "tools/inject/traced_thread.h"
#include "tools/inject/wait_time.h"

namespace lagwatch::tools {
namespace {

constexpr int64_t kFindThreadNs = 5 * base::kNsPerSecond;
constexpr int64_t kStopNs = 2 * base::kNsPerSecond;
constexpr int64_t kReturnNs = 10 * base::kNsPerSecond;
// More than the red zone. The stack of a coroutine may end not far below it.
constexpr uint64_t kKeptBytes = 256;
constexpr uint64_t kStackBytes = 1 << 20;
// Others are considered when a waiting thread was looked for this many times.
constexpr int kRoundsForWaits = 10;
constexpr int kLongestPauseMs = 20;

int64_t MonoNow() { return base::SystemClock().MonoNs(); }

base::Status StopError(pid_t pid, int error) {
  if (error == EPERM) {
    return {base::StatusCode::kUnauthorized, "the system denies access to process " + std::to_string(pid) +
                                                 ": it belongs to another user, is being debugged, or "
                                                 "kernel.yama.ptrace_scope forbids it; try sudo"};
  }
  return base::IoError("cannot stop a thread of process " + std::to_string(pid), error);
}

base::Status CallFailed(pid_t pid, const std::string& how) {
  return {base::StatusCode::kUnavailable, "a call in process " + std::to_string(pid) + " " + how};
}

}  // namespace

base::Result<std::unique_ptr<RemoteCaller>> RemoteCaller::Stop(const AddressSpace& space) {
  const pid_t pid = space.pid();
  // Without it, only waits for events outside of the process are known to be safe.
  std::unique_ptr<CallSafety> safety;
  if (auto created = CallSafety::Create(pid); created.ok())
    safety = std::make_unique<CallSafety>(std::move(*created));
  const int64_t deadline_ns = MonoNow() + kFindThreadNs;
  if (kill(pid, 0) != 0 && errno == ESRCH)
    return base::Status(base::StatusCode::kNotFound, "no such process: " + std::to_string(pid));
  int rounds = 0;
  do {
    const auto threads = ThreadsOf(pid);
    // A thread that runs does not show its stack before it is stopped.
    if (safety != nullptr && rounds > 0 && rounds % kRoundsForWaits == 0) safety->NoteStacks();
    for (const StoppedIn wanted : {StoppedIn::kWait, StoppedIn::kFutex, StoppedIn::kRunning}) {
      // Most programs soon wait: a running thread is only stopped if none does.
      if (wanted != StoppedIn::kWait && (safety == nullptr || rounds < kRoundsForWaits)) break;
      for (const pid_t tid : threads) {
        const ThreadSyscall syscall = ReadSyscall(pid, tid);
        if (PlaceOf(syscall.number) != wanted) continue;
        if (safety != nullptr && syscall.stack_pointer != 0 && !safety->KnowsStack(syscall.stack_pointer))
          safety->NoteStacks();
        auto caller = TryStop(space, tid, safety.get());
        if (caller.ok() && *caller != nullptr) (*caller)->safety_ = std::move(safety);
        if (!caller.ok() || *caller != nullptr) return caller;
      }
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = base::kNsPerMs * std::min(++rounds, kLongestPauseMs)};
    nanosleep(&pause, nullptr);
  } while (MonoNow() < deadline_ns && kill(pid, 0) == 0);
  // A reason that hides the states of its threads would also prevent ptrace from stopping them.
  if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0) return StopError(pid, errno);
  Release(pid);
  return base::Status(base::StatusCode::kUnavailable,
                      "no thread of process " + std::to_string(pid) +
                          " came to a place where it can call a function (outside of the allocator, the "
                          "loader and signal handlers); try again");
}

// Null when the thread went on before it could be stopped.
base::Result<std::unique_ptr<RemoteCaller>> RemoteCaller::TryStop(const AddressSpace& space, pid_t tid,
                                                                  const CallSafety* safety) {
  const pid_t pid = space.pid();
  std::unique_ptr<RemoteCaller> caller(new RemoteCaller(space, tid));
  caller->priority_ = std::make_unique<ScopedPriority>();
  const WaitTime wait(pid, tid);  // right before the stop: a thread that runs in between hides it
  if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0) {
    caller->tid_ = 0;
    if (errno == ESRCH) return std::unique_ptr<RemoteCaller>();
    return StopError(pid, errno);
  }
  caller->stopped_ns_ = MonoNow();
  ptrace(PTRACE_INTERRUPT, tid, 0, 0);
  int status = 0;
  const Stopping stop = AwaitStop(tid, kStopNs, &status);
  if (stop == Stopping::kStopped && caller->TakeState(status, safety, wait)) return caller;
  caller->tid_ = 0;
  if (stop == Stopping::kEnded) return std::unique_ptr<RemoteCaller>();
  if (stop == Stopping::kLate)
    return base::Status(base::StatusCode::kUnavailable,
                        "a thread of process " + std::to_string(pid) + " does not stop");
  const bool is_other_program = !space.IsOf(tid);
  Release(tid, SignalOf(status));
  if (is_other_program)
    return base::Status(base::StatusCode::kUnavailable,
                        "process " + std::to_string(pid) + " has started another program; try again");
  return std::unique_ptr<RemoteCaller>();
}

// Everything is checked that was seen before the stop. False if the thread cannot make calls.
bool RemoteCaller::TakeState(int status, const CallSafety* safety, const WaitTime& wait) {
  if (SignalOf(status) != 0 || IsGroupStop(status) || !space_->IsOf(tid_) || !before_.Read(tid_))
    return false;
  const ThreadSyscall syscall = ReadSyscall(space_->pid(), tid_);
  const auto place = PlaceOf(syscall.number);
  if (!place || IsSignalDue(space_->pid(), tid_, before_.signal_mask)) return false;
  if (safety == nullptr ? place != StoppedIn::kWait : !safety->IsSafe(before_.registers, *place))
    return false;
  has_room_ = safety != nullptr && safety->HasRoom(before_.registers);
  stack_pointer_ = StackPointerOf(before_.registers) - kKeptBytes;
  if (place == StoppedIn::kWait && has_room_) KeepItsEnd(syscall.number, *safety, wait);
  // Most calls the kernel makes again by itself; epoll_wait, of which it would not, the program shall
  // not see fail.
  if (place != StoppedIn::kRunning && static_cast<int64_t>(ResultOf(before_.registers)) == -EINTR)
    MakeSyscallAgain(static_cast<uint64_t>(syscall.number), syscall.first_argument, &before_.registers);
  return true;
}

// The C library's code does not look at the arguments again; the program's own might.
void RemoteCaller::KeepItsEnd(long syscall_number, const CallSafety& safety, const WaitTime& wait) {
  constexpr uint64_t kScratchBytes = 48 * 1024;  // below all that the call needs
  const auto error = -static_cast<int64_t>(ResultOf(before_.registers));
  if ((error != EINTR && !IsRestart(error)) || !safety.IsInLibc(ProgramCounterOf(before_.registers))) return;
  const auto lasted_ns = wait.LastedNs(stopped_ns_);
  const uint64_t scratch = (stack_pointer_ - kScratchBytes) & ~uint64_t{15};
  if (lasted_ns) ShortenWait(*space_, syscall_number, *lasted_ns, scratch, &before_.registers);
}

RemoteCaller::RemoteCaller(const AddressSpace& space, pid_t tid) : space_(&space), tid_(tid) {}

RemoteCaller::~RemoteCaller() { Continue(); }

void RemoteCaller::Continue() {
  LeaveOwnStack();
  if (tid_ == 0) return;
  before_.Write(tid_);
  Detach();
}

bool RemoteCaller::ContinueWithCall(const RemoteFunction& function, uint64_t signal_return) {
  if (tid_ == 0 || is_lost_ || !has_room_ ||
      !SetReturningCall(*space_, tid_, before_, stack_pointer_, signal_return, function))
    return false;
  // The signals are blocked only now: if this program ends before, the thread has not lost them.
  BlockSignalsForCall(tid_);
  Detach();
  return true;
}

void RemoteCaller::Detach() {
  Release(tid_);
  // Nothing is taken off: the kernel's sum of the waits for a processor also has those from before the stop,
  // and after it.
  stop_ns_ = MonoNow() - stopped_ns_;
  tid_ = 0;
  priority_.reset();
}

base::Status RemoteCaller::UseOwnStack(uint64_t mmap_address, uint64_t munmap_address) {
  if (has_room_) return {};  // each call lengthens the stop
  const auto memory =
      LAGWATCH_TRY(Call({mmap_address,
                         {0, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          static_cast<uint64_t>(-1), 0}}));
  if (memory == reinterpret_cast<uint64_t>(MAP_FAILED))
    return {base::StatusCode::kUnavailable, "process " + std::to_string(space_->pid()) + " is out of memory"};
  own_stack_ = memory;
  munmap_address_ = munmap_address;
  stack_pointer_ = own_stack_ + kStackBytes;
  return {};
}

void RemoteCaller::LeaveOwnStack() {
  if (own_stack_ == 0 || tid_ == 0 || is_lost_) return;
  stack_pointer_ = StackPointerOf(before_.registers) - kKeptBytes;
  static_cast<void>(Call({munmap_address_, {std::exchange(own_stack_, 0), kStackBytes}}));
}

base::Result<uint64_t> RemoteCaller::Copy(const std::string& text) {
  const uint64_t address = (stack_pointer_ - text.size() - 1) & ~uint64_t{15};
  if (!space_->Write(address, text.c_str(), text.size() + 1))
    return base::IoError("cannot write to the memory of process " + std::to_string(space_->pid()), errno);
  stack_pointer_ = address;
  return address;
}

base::Result<uint64_t> RemoteCaller::Call(const RemoteFunction& function) {
  BlockSignalsForCall(tid_);
  ThreadRegisters registers = before_.registers;
  uint64_t return_slot = 0;
  const uint64_t nowhere = 0;
  if (!PrepareCall(function.address, function.arguments, stack_pointer_ & ~uint64_t{15}, &registers,
                   &return_slot, nowhere) &&
      !space_->Write(return_slot, &nowhere, sizeof nowhere))
    return base::IoError("cannot write to the stack of process " + std::to_string(space_->pid()), errno);
  if (!WriteRegisters(tid_, registers)) return base::IoError("cannot set registers", errno);
  if (base::Status status = AwaitReturn(); !status.ok()) return status;
  if (!ReadRegisters(tid_, &registers)) return base::IoError("cannot read registers", errno);
  if (ProgramCounterOf(registers) != nowhere) return CallFailed(space_->pid(), "failed");
  return ResultOf(registers);
}

// The return to address 0 is a fault, of which the process never hears.
base::Status RemoteCaller::AwaitReturn() {
  const base::Status is_gone(base::StatusCode::kUnavailable,
                             "process " + std::to_string(space_->pid()) + " ended");
  int status = 0;
  int signal_number = 0;
  do {
    if (ptrace(PTRACE_CONT, tid_, 0, signal_number) != 0) return is_gone;
    const Stopping stop = AwaitStop(tid_, kReturnNs, &status);
    if (stop == Stopping::kEnded) {
      tid_ = 0;
      return is_gone;
    }
    if (stop == Stopping::kLate) {
      // It waits for a lock that is never released. Forcing it out would do as much harm.
      is_lost_ = true;
      ptrace(PTRACE_INTERRUPT, tid_, 0, 0);
      AwaitStop(tid_, kStopNs, &status);
      return CallFailed(space_->pid(), "does not return");
    }
    // Other stops are stops of the whole process, or events of ours.
    signal_number = 0;
  } while (WSTOPSIG(status) != SIGSEGV && WSTOPSIG(status) != SIGBUS && WSTOPSIG(status) != SIGILL);
  return {};
}

}  // namespace lagwatch::tools
