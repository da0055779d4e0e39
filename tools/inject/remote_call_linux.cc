// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "tools/inject/call_registers.h"
#include "tools/inject/call_safety.h"
#include "tools/inject/process_memory.h"
#include "tools/inject/remote_call.h"
#include "tools/inject/return_frame.h"
#include "tools/inject/traced_thread.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

constexpr int64_t kFindThreadNs = 5 * base::kNsPerSecond;
constexpr int64_t kStopNs = 2 * base::kNsPerSecond;
constexpr int64_t kReturnNs = 10 * base::kNsPerSecond;
constexpr timespec kPollPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs};
// More than the red zone. The stack of a coroutine may end not far below it.
constexpr uint64_t kKeptBytes = 256;
constexpr uint64_t kStackBytes = 1 << 20;

int64_t MonoNow() { return base::SystemClock().MonoNs(); }

// Waits for events outside of the process, which code makes with no lock of the C library's held.
bool IsHarmlessWait(long number) {
  static constexpr long kHarmless[] = {
#ifdef SYS_poll
      SYS_poll,           SYS_select,          SYS_epoll_wait,
      SYS_pause,          SYS_accept,
#endif
      SYS_ppoll,          SYS_pselect6,        SYS_epoll_pwait,
      SYS_epoll_pwait2,   SYS_nanosleep,       SYS_clock_nanosleep,
      SYS_read,           SYS_recvfrom,        SYS_recvmsg,
      SYS_accept4,        SYS_wait4,           SYS_waitid,
      SYS_connect,        SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
      SYS_restart_syscall};  // of one of these, after the process was stopped and continued
  return std::ranges::find(kHarmless, number) != std::end(kHarmless);
}

// After this many looks for a waiting thread, others are considered.
constexpr int kRoundsForWaits = 10;
constexpr int kLongestPauseMs = 20;

// None: a call that is not safe to leave and make again.
std::optional<StoppedIn> PlaceOf(long number) {
  if (number == kInNoSyscall) return StoppedIn::kRunning;
  static constexpr long kHoldNoLock[] = {SYS_futex,        SYS_clock_gettime, SYS_getrusage, SYS_times,
                                         SYS_gettimeofday, SYS_sched_yield,   SYS_write,     SYS_writev,
                                         SYS_lseek,        SYS_sendto,        SYS_sendmsg,   SYS_getpid};
  if (std::ranges::find(kHoldNoLock, number) != std::end(kHoldNoLock)) return StoppedIn::kFutex;
  if (IsHarmlessWait(number)) return StoppedIn::kWait;
  return std::nullopt;
}

// The time that the thread has waited for a processor, since its start.
int64_t QueuedNs(pid_t pid, pid_t tid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/schedstat");
  int64_t run_ns = 0;
  int64_t queued_ns = 0;
  file >> run_ns >> queued_ns;
  return queued_ns;
}

// The main thread first.
std::vector<pid_t> ThreadsOf(pid_t pid) {
  std::vector<pid_t> threads{pid};
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    const pid_t tid = std::stoi(entry.path().filename().string());
    if (tid != pid) threads.push_back(tid);
  }
  return threads;
}

base::Status StopError(pid_t pid, int error) {
  if (error == EPERM) {
    return {base::StatusCode::kUnauthorized, "the system denies access to process " + std::to_string(pid) +
                                                 ": it belongs to another user, is being debugged, or "
                                                 "kernel.yama.ptrace_scope forbids it; try sudo"};
  }
  return base::IoError("cannot stop a thread of process " + std::to_string(pid), error);
}

// The signal that the thread was about to get, which it is to get after all; 0 when we stopped it, or it
// stands still with its whole process.
int SignalOf(int status) { return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status); }

// Vectors and numbers with a point, which code around a system call of its own may count on.
bool ReadVectors(pid_t tid, std::vector<char>* bytes) {
  constexpr size_t kMostBytes = 64 * 1024;
  bytes->resize(kMostBytes);
  iovec piece{bytes->data(), bytes->size()};
  if (ptrace(PTRACE_GETREGSET, tid, kVectorRegisters, &piece) != 0) return false;
  bytes->resize(piece.iov_len);
  return true;
}
bool WriteVectors(pid_t tid, std::vector<char> bytes) {
  iovec piece{bytes.data(), bytes.size()};
  return ptrace(PTRACE_SETREGSET, tid, kVectorRegisters, &piece) == 0;
}

// Those that the process has handlers for.
uint64_t CaughtSignalsOf(pid_t pid) { return std::strtoull(StatusField(pid, "SigCgt").c_str(), nullptr, 16); }

// Whether a signal waits to be handled, which is to interrupt the thread's system call after its stop.
bool IsSignalDue(pid_t pid, pid_t tid, uint64_t mask) {
  for (const uint32_t flags : {uint32_t{0}, uint32_t{PTRACE_PEEKSIGINFO_SHARED}}) {
    __ptrace_peeksiginfo_args wanted{.off = 0, .flags = flags, .nr = 1};
    siginfo_t one;
    for (; ptrace(PTRACE_PEEKSIGINFO, tid, &wanted, &one) == 1; ++wanted.off) {
      const uint64_t bit = uint64_t{1} << (one.si_signo - 1);
      if ((mask & bit) == 0 && (CaughtSignalsOf(pid) & bit) != 0) return true;
    }
  }
  return false;
}

// Blocks signals until the call is over, except those that the call itself would raise.
uint64_t MaskForCalls() {
  uint64_t mask = ~uint64_t{0};
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) mask &= ~(uint64_t{1} << (number - 1));
  return mask;
}

}  // namespace

struct RemoteCaller::Registers {
  ThreadRegisters values;
  std::vector<char> vectors;
};

base::Result<std::unique_ptr<RemoteCaller>> RemoteCaller::Stop(pid_t pid) {
  // Without it, only waits for events outside of the process are known to be safe.
  auto safety = CallSafety::Create(pid);
  CallSafety* judge = safety.ok() ? &*safety : nullptr;
  const int64_t deadline_ns = MonoNow() + kFindThreadNs;
  if (kill(pid, 0) != 0 && errno == ESRCH)
    return base::Status(base::StatusCode::kNotFound, "no such process: " + std::to_string(pid));
  int rounds = 0;
  do {
    const auto threads = ThreadsOf(pid);
    for (const StoppedIn wanted : {StoppedIn::kWait, StoppedIn::kFutex, StoppedIn::kRunning}) {
      // Most programs soon wait: a running thread is only stopped if none does.
      if (wanted != StoppedIn::kWait && (judge == nullptr || rounds < kRoundsForWaits)) break;
      for (const pid_t tid : threads) {
        const ThreadSyscall syscall = ReadSyscall(pid, tid);
        if (PlaceOf(syscall.number) != wanted) continue;
        if (judge != nullptr && syscall.stack_pointer != 0) judge->NoteStack(syscall.stack_pointer);
        auto caller = TryStop(pid, tid, judge);
        if (!caller.ok() || *caller != nullptr) return caller;
      }
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = base::kNsPerMs * std::min(++rounds, kLongestPauseMs)};
    nanosleep(&pause, nullptr);
  } while (MonoNow() < deadline_ns && kill(pid, 0) == 0);
  // A reason that hides the states of its threads would also prevent ptrace from stopping them.
  if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0) return StopError(pid, errno);
  ptrace(PTRACE_INTERRUPT, pid, 0, 0);
  int status = 0;
  if (AwaitStop(pid, kStopNs, &status) == Stopping::kStopped) ptrace(PTRACE_DETACH, pid, 0, SignalOf(status));
  return base::Status(base::StatusCode::kUnavailable,
                      "no thread of process " + std::to_string(pid) +
                          " came to a place where it can call a function (outside of the allocator, the "
                          "loader and signal handlers); try again");
}

// Null when the thread went on before it could be stopped.
base::Result<std::unique_ptr<RemoteCaller>> RemoteCaller::TryStop(pid_t pid, pid_t tid,
                                                                  const CallSafety* safety) {
  auto priority = std::make_unique<ScopedPriority>();
  if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0) {
    if (errno == ESRCH) return std::unique_ptr<RemoteCaller>();
    return StopError(pid, errno);
  }
  const int64_t queued_ns = QueuedNs(pid, tid);
  const int64_t stopped_ns = MonoNow();
  ptrace(PTRACE_INTERRUPT, tid, 0, 0);
  int status = 0;
  const Stopping stop = AwaitStop(tid, kStopNs, &status);
  if (stop == Stopping::kEnded) return std::unique_ptr<RemoteCaller>();
  if (stop == Stopping::kLate)
    return base::Status(base::StatusCode::kUnavailable,
                        "a thread of process " + std::to_string(pid) + " does not stop");
  std::unique_ptr<RemoteCaller> caller(new RemoteCaller(pid, tid));
  caller->priority_ = std::move(priority);
  caller->stopped_ns_ = stopped_ns;
  caller->queued_ns_ = queued_ns;
  const ThreadSyscall syscall = ReadSyscall(pid, tid);
  const auto place = PlaceOf(syscall.number);
  const bool has_state =
      SignalOf(status) == 0 && ReadRegisters(tid, &caller->before_->values) &&
      ReadVectors(tid, &caller->before_->vectors) &&
      ptrace(PTRACE_GETSIGMASK, tid, sizeof caller->signal_mask_, &caller->signal_mask_) == 0;
  const bool is_safe = has_state && !IsSignalDue(pid, tid, caller->signal_mask_) &&
                       (safety == nullptr ? place == StoppedIn::kWait
                                          : place && safety->IsSafe(caller->before_->values, *place));
  if (!is_safe) {
    ptrace(PTRACE_DETACH, tid, 0, SignalOf(status));
    caller->tid_ = 0;
    return std::unique_ptr<RemoteCaller>();
  }
  // Most calls the kernel makes again by itself; epoll_wait, of which it would not, the program shall
  // not see fail.
  if (place != StoppedIn::kRunning && static_cast<int64_t>(ResultOf(caller->before_->values)) == -EINTR)
    MakeSyscallAgain(static_cast<uint64_t>(syscall.number), syscall.first_argument, &caller->before_->values);
  caller->has_room_ = safety != nullptr && safety->HasRoom(caller->before_->values);
  caller->stack_pointer_ = StackPointerOf(caller->before_->values) - kKeptBytes;
  return caller;
}

RemoteCaller::RemoteCaller(pid_t pid, pid_t tid) : pid_(pid), tid_(tid), before_(new Registers) {}

RemoteCaller::~RemoteCaller() { Continue(); }

void RemoteCaller::Continue() {
  LeaveOwnStack();
  if (tid_ == 0) return;
  WriteRegisters(tid_, before_->values);
  WriteVectors(tid_, before_->vectors);
  ptrace(PTRACE_SETSIGMASK, tid_, sizeof signal_mask_, &signal_mask_);
  Detach();
}

bool RemoteCaller::ContinueWithCall(uint64_t address, const std::vector<uint64_t>& arguments,
                                    uint64_t signal_return) {
  if (tid_ == 0 || is_lost_ || signal_return == 0 || !has_room_) return false;
  const auto frame =
      MakeReturnFrame(before_->values, before_->vectors, signal_mask_, stack_pointer_, signal_return);
  if (!frame) return false;
  if (!WriteMemory(pid_, frame->address, frame->bytes.data(), frame->bytes.size())) return false;
  ThreadRegisters registers = before_->values;
  uint64_t return_slot = 0;
  PrepareCall(address, arguments, frame->address + sizeof(uint64_t), &registers, &return_slot, 0);
  if (return_slot != frame->address || !WriteRegisters(tid_, registers)) return false;
  // Only now: if this program ends before, the thread has not lost its signals.
  BlockSignals();
  Detach();
  return true;
}

void RemoteCaller::BlockSignals() const {
  const uint64_t mask = MaskForCalls();
  ptrace(PTRACE_SETSIGMASK, tid_, sizeof mask, &mask);
}

void RemoteCaller::Detach() {
  ptrace(PTRACE_DETACH, tid_, 0, 0);
  const int64_t queued_ns = QueuedNs(pid_, tid_) - queued_ns_;
  stop_ns_ = MonoNow() - stopped_ns_ - queued_ns;
  queued_ns_ = queued_ns;
  tid_ = 0;
  priority_.reset();
}

base::Status RemoteCaller::UseOwnStack(uint64_t mmap_address, uint64_t munmap_address) {
  if (has_room_) return {};  // each call lengthens the stop
  const auto memory = LAGWATCH_TRY(
      Call(mmap_address, {0, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          static_cast<uint64_t>(-1), 0}));
  if (memory == reinterpret_cast<uint64_t>(MAP_FAILED))
    return {base::StatusCode::kUnavailable, "process " + std::to_string(pid_) + " is out of memory"};
  own_stack_ = memory;
  munmap_address_ = munmap_address;
  stack_pointer_ = own_stack_ + kStackBytes;
  return {};
}

void RemoteCaller::LeaveOwnStack() {
  if (own_stack_ == 0 || tid_ == 0 || is_lost_) return;
  stack_pointer_ = StackPointerOf(before_->values) - kKeptBytes;
  static_cast<void>(Call(munmap_address_, {std::exchange(own_stack_, 0), kStackBytes}));
}

base::Result<uint64_t> RemoteCaller::Copy(const std::string& text) {
  const uint64_t address = (stack_pointer_ - text.size() - 1) & ~uint64_t{15};
  if (!WriteMemory(pid_, address, text.c_str(), text.size() + 1))
    return base::IoError("cannot write to the memory of process " + std::to_string(pid_), errno);
  stack_pointer_ = address;
  return address;
}

base::Result<uint64_t> RemoteCaller::Call(uint64_t address, const std::vector<uint64_t>& arguments) {
  BlockSignals();
  ThreadRegisters registers = before_->values;
  uint64_t return_slot = 0;
  if (!PrepareCall(address, arguments, stack_pointer_ & ~uint64_t{15}, &registers, &return_slot, 0) &&
      ptrace(PTRACE_POKEDATA, tid_, return_slot, 0) != 0) {
    return base::IoError("cannot write to the stack of process " + std::to_string(pid_), errno);
  }
  if (!WriteRegisters(tid_, registers)) return base::IoError("cannot set registers", errno);
  if (base::Status status = AwaitReturn(); !status.ok()) return status;
  if (!ReadRegisters(tid_, &registers)) return base::IoError("cannot read registers", errno);
  if (ProgramCounterOf(registers) != 0)
    return base::Status(base::StatusCode::kUnavailable,
                        "a call in process " + std::to_string(pid_) + " failed");
  return ResultOf(registers);
}

base::Result<uint64_t> RemoteCaller::ReadWord(uint64_t address) const {
  uint64_t word = 0;
  if (ReadMemory(pid_, address, &word, sizeof word) != sizeof word)
    return base::IoError("cannot read the memory of process " + std::to_string(pid_), errno);
  return word;
}

// The return to address 0 is a fault, of which the process never hears.
base::Status RemoteCaller::AwaitReturn() {
  const base::Status is_gone(base::StatusCode::kUnavailable, "process " + std::to_string(pid_) + " ended");
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
      return {base::StatusCode::kUnavailable,
              "a call in process " + std::to_string(pid_) + " does not return"};
    }
    // Other stops are stops of the whole process, or events of ours.
    signal_number = 0;
  } while (WSTOPSIG(status) != SIGSEGV && WSTOPSIG(status) != SIGBUS && WSTOPSIG(status) != SIGILL);
  return {};
}

}  // namespace lagwatch::tools
