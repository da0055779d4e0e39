// SPDX-License-Identifier: Apache-2.0
#include <sys/ptrace.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/clock.h"
#include "tools/inject/call_registers.h"
#include "tools/inject/helper_thread.h"
#include "tools/inject/process_memory.h"
#include "tools/inject/remote_call.h"
#include "tools/inject/return_frame.h"
#include "tools/inject/traced_thread.h"

namespace lagwatch::tools {
namespace {

constexpr timespec kHelperPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs / 5};
constexpr int64_t kHelperStartNs = 2 * base::kNsPerSecond;
constexpr int64_t kHelperCallNs = 20 * base::kNsPerSecond;
constexpr uint64_t kHelperKeptBytes = 512;
constexpr uint64_t kWordBytes = sizeof(uint64_t);

base::Status HelperFailed(std::string message) {
  return {base::StatusCode::kUnavailable, std::move(message)};
}

bool WriteWords(pid_t pid, uint64_t address, const std::vector<uint64_t>& words) {
  return WriteMemory(pid, address, words.data(), words.size() * kWordBytes);
}

std::string TaskFolder(pid_t pid, pid_t tid) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
}

// 0 if the thread does not sleep in pause(2).
uint64_t StackPointerInPause(pid_t pid, pid_t tid) {
  const ThreadSyscall syscall = ReadSyscall(pid, tid);
  return syscall.number == kPauseSyscall ? syscall.stack_pointer : 0;
}

constexpr uint64_t kMostUsedBytes = 64 * 1024;

std::set<pid_t> TasksOf(pid_t pid) {
  std::set<pid_t> threads;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error))
    threads.insert(std::atoi(entry.path().filename().c_str()));
  return threads;
}

// The thread that is not one of `others`, once it sleeps in pause(2); 0 if there is no such one.
pid_t FindPausing(pid_t pid, const std::set<pid_t>& others) {
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kHelperStartNs;
  do {
    for (const pid_t tid : TasksOf(pid))
      if (!others.contains(tid) && StackPointerInPause(pid, tid) != 0) return tid;
    nanosleep(&kHelperPause, nullptr);
  } while (base::SystemClock().MonoNs() < deadline_ns);
  return 0;
}

}  // namespace

struct HelperThread::Registers {
  ThreadRegisters values{};
};

HelperThread::HelperThread(pid_t pid, pid_t tid, uint64_t pause_address)
    : pid_(pid), tid_(tid), pause_(pause_address), before_(new Registers) {}

base::Result<std::unique_ptr<HelperThread>> HelperThread::Start(pid_t pid, const LoadedLibrary& libc) {
  const uint64_t mmap = libc.AddressOf("mmap");
  const uint64_t munmap = libc.AddressOf("munmap");
  const uint64_t create = libc.AddressOf("pthread_create");
  const uint64_t detach = libc.AddressOf("pthread_detach");
  const uint64_t pause = libc.AddressOf("pause");
  for (const uint64_t address : {mmap, munmap, create, detach, pause}) {
    if (address == 0)
      return base::Status(base::StatusCode::kInvalid,
                          libc.path() + " has no threads of its own (it is older than glibc 2.34)");
  }
  const uint64_t signal_return = FindSignalReturn(pid, libc);
  const std::set<pid_t> others = TasksOf(pid);
  uint64_t thread = 0;  // its block of the C library, at the upper end of its stack
  int64_t stop_ns = 0;
  int64_t queued_ns = 0;
  {
    const ScopedSignalBlock block;
    auto caller = LAGWATCH_TRY(RemoteCaller::Stop(pid));
    if (base::Status status = caller->UseOwnStack(mmap, munmap); !status.ok()) return status;
    const auto place = LAGWATCH_TRY(caller->Copy(std::string(kWordBytes, '\0')));
    if (!caller->ContinueWithCall(create, {place, 0, pause, 0}, signal_return)) {
      const auto error = LAGWATCH_TRY(caller->Call(create, {place, 0, pause, 0}));
      if (error != 0) return HelperFailed("the process could not start a thread");
      thread = LAGWATCH_TRY(caller->ReadWord(place));
      caller->Continue();
    }
    stop_ns = caller->stop_ns();
    queued_ns = caller->queued_ns();
  }
  const pid_t tid = FindPausing(pid, others);
  if (tid == 0) return HelperFailed("the process could not start a thread");
  std::unique_ptr<HelperThread> helper(new HelperThread(pid, tid, pause));
  helper->stop_ns_ = stop_ns;
  helper->queued_ns_ = queued_ns;
  if (!helper->Stop()) {
    helper->is_lost_ = true;
    return HelperFailed("the thread that the process started has ended");
  }
  const bool is_known = ReadRegisters(helper->tid_, &helper->before_->values);
  ptrace(PTRACE_DETACH, helper->tid_, 0, 0);
  if (thread == 0) thread = ThreadBlockOf(helper->before_->values);
  const uint64_t top = is_known ? StackPointerOf(helper->before_->values) : 0;
  if (top == 0 || top >= thread || thread - top >= kMostUsedBytes) {
    helper->is_lost_ = true;
    return HelperFailed("the new thread of the process is not the one that was started");
  }
  helper->stack_pointer_ = top - kHelperKeptBytes;
  if (base::Status status = helper->Call(detach, {thread}); !status.ok()) return status;
  return helper;
}

HelperThread::~HelperThread() {
  if (is_lost_ || !Stop()) return;
  EndSyscall(&before_->values);
  WriteRegisters(tid_, before_->values);
  ptrace(PTRACE_DETACH, tid_, 0, 0);
  const std::string folder = TaskFolder(pid_, tid_);
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kHelperStartNs;
  while (access(folder.c_str(), F_OK) == 0 && base::SystemClock().MonoNs() < deadline_ns)
    nanosleep(&kHelperPause, nullptr);
}

bool HelperThread::AwaitPause(uint64_t stack_pointer, int64_t timeout_ns) const {
  constexpr uint64_t kPauseFrameBytes = 256;
  const int64_t deadline_ns = base::SystemClock().MonoNs() + timeout_ns;
  do {
    const uint64_t at = StackPointerInPause(pid_, tid_);
    if (at != 0 && at <= stack_pointer && stack_pointer - at < kPauseFrameBytes) return true;
    if (access(TaskFolder(pid_, tid_).c_str(), F_OK) != 0) return false;  // it has ended
    nanosleep(&kHelperPause, nullptr);
  } while (base::SystemClock().MonoNs() < deadline_ns);
  return false;
}

bool HelperThread::Stop() const {
  if (ptrace(PTRACE_SEIZE, tid_, 0, 0) != 0) return false;
  ptrace(PTRACE_INTERRUPT, tid_, 0, 0);
  int status = 0;
  return AwaitStop(tid_, kHelperStartNs, &status) == Stopping::kStopped;
}

base::Result<uint64_t> HelperThread::Copy(const std::string& bytes) {
  const uint64_t address = (stack_pointer_ - bytes.size() - 1) & ~uint64_t{15};
  if (!WriteMemory(pid_, address, bytes.c_str(), bytes.size() + 1))
    return base::IoError("cannot write to the memory of process " + std::to_string(pid_), errno);
  stack_pointer_ = address;
  return address;
}

base::Result<std::string> HelperThread::Read(uint64_t address, size_t bytes) const {
  std::string text(bytes, '\0');
  if (ReadMemory(pid_, address, text.data(), bytes) != bytes)
    return base::IoError("cannot read the memory of process " + std::to_string(pid_), errno);
  text.resize(text.find('\0') == std::string::npos ? bytes : text.find('\0'));
  return text;
}

base::Status HelperThread::Call(uint64_t address, const std::vector<uint64_t>& arguments) {
  const ScopedSignalBlock block;
  if (is_lost_ || !Stop()) return HelperFailed("the helper thread has ended");
  ThreadRegisters registers = before_->values;
  const uint64_t top = (stack_pointer_ & ~uint64_t{15}) - 2 * kWordBytes;  // room for two return addresses
  uint64_t return_slot = 0;
  const uint64_t sleeping = PrepareCall(address, arguments, top, &registers, &return_slot, pause_)
                                ? StackPointerOf(registers)
                                : StackPointerOf(registers) + kWordBytes;
  const bool is_set = (return_slot == 0 || WriteWords(pid_, return_slot, {pause_, pause_})) &&
                      WriteRegisters(tid_, registers);
  ptrace(PTRACE_DETACH, tid_, 0, 0);
  if (!is_set) return base::IoError("cannot set the helper thread's registers", errno);
  if (AwaitPause(sleeping, kHelperCallNs)) return {};
  is_lost_ = true;
  return HelperFailed("a call in process " + std::to_string(pid_) + " does not return");
}

}  // namespace lagwatch::tools
