// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <random>

#include "base/clock.h"
#include "tools/inject/call_registers.h"
#include "tools/inject/helper_thread.h"
#include "tools/inject/process_memory.h"
#include "tools/inject/remote_call.h"
#include "tools/inject/return_frame.h"
#include "tools/inject/thread_places.h"

namespace lagwatch::tools {
namespace {

constexpr timespec kHelperPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs / 5};
constexpr int64_t kHelperStartNs = 2 * base::kNsPerSecond;
constexpr int64_t kHelperCallNs = 20 * base::kNsPerSecond;
constexpr uint64_t kHelperKeptBytes = 512;
constexpr uint64_t kPauseFrameBytes = 256;
constexpr uint64_t kWordBytes = sizeof(uint64_t);
constexpr uint32_t kSleepS = 2;

// The helper runs sleep(3), which takes the lower half of its argument; the upper half is ours. A part of it
// is new in each command; by the rest, the next command finds what is left.
constexpr uint64_t kAnyMark = uint64_t{0x4c57} << 48 | kSleepS;
constexpr uint64_t kNewBits = uint64_t{0xffff} << 32;

uint64_t MakeMark() {
  std::random_device random;
  return kAnyMark | (uint64_t{random()} << 32 & kNewBits);
}

bool IsMark(uint64_t word, uint64_t mark) {
  return mark != 0 ? word == mark : (word & ~kNewBits) == kAnyMark;
}

base::Status HelperFailed(std::string message) {
  return {base::StatusCode::kUnavailable, std::move(message)};
}

std::string TaskFolder(pid_t pid, pid_t tid) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
}

// The calls in which helpers rest; the last one after a signal.
bool IsRest(long number) {
  return number == SYS_clock_nanosleep || number == kPauseSyscall || number == SYS_restart_syscall;
}

// Whether the thread sleeps, and what looks like a block with a mark is above in its stack. Disturbs no
// thread, so that only those that are ours are stopped for an exact look.
bool MayBeMarked(pid_t pid, pid_t tid, uint64_t mark, size_t most_bytes) {
  constexpr size_t kPieceBytes = 16 * 1024;
  const ThreadSyscall syscall = ReadSyscall(pid, tid);
  if (!IsRest(syscall.number)) return false;
  std::vector<uint64_t> words;
  size_t read = kPieceBytes;
  while (read == kPieceBytes && words.size() * kWordBytes < most_bytes) {
    const size_t known = words.size();
    words.resize(known + kPieceBytes / kWordBytes);
    read = ReadMemory(pid, syscall.stack_pointer + known * kWordBytes, &words[known], kPieceBytes);
    words.resize(known + read / kWordBytes);
    for (size_t i = known; i < words.size(); ++i)
      if (IsMark(words[i], mark) && IsInThreadBlock(words, i, syscall.stack_pointer)) return true;
  }
  return false;
}

// A detached thread's attributes, as the process's C library takes them: they have had one form since glibc
// 2.32.
std::string DetachedAttributes() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  std::string bytes(reinterpret_cast<const char*>(&attributes), sizeof attributes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

struct Functions {
  uint64_t mmap;
  uint64_t munmap;
  uint64_t create;
  uint64_t sleep;
  uint64_t pause;
  uint64_t signal_return;
};

base::Result<Functions> FindFunctions(pid_t pid, const LoadedLibrary& libc) {
  const Functions found{.mmap = libc.AddressOf("mmap"),
                        .munmap = libc.AddressOf("munmap"),
                        .create = libc.AddressOf("pthread_create"),
                        .sleep = libc.AddressOf("sleep"),
                        .pause = libc.AddressOf("pause"),
                        .signal_return = FindSignalReturn(pid, libc)};
  for (const uint64_t address : {found.mmap, found.munmap, found.create, found.sleep, found.pause}) {
    if (address == 0)
      return base::Status(base::StatusCode::kInvalid,
                          libc.path() + " has no threads of its own (it is older than glibc 2.34)");
  }
  return found;
}

// Has one of the process's threads start one that sleeps. Returns the caller, for its times.
base::Result<std::unique_ptr<RemoteCaller>> StartThread(const AddressSpace& space, const Functions& functions,
                                                        uint64_t mark) {
  const std::string attributes = DetachedAttributes();
  const ScopedSignalBlock block;
  auto caller = LAGWATCH_TRY(RemoteCaller::Stop(space));
  if (base::Status status = caller->UseOwnStack(functions.mmap, functions.munmap); !status.ok())
    return status;
  const auto place = LAGWATCH_TRY(caller->Copy(attributes + std::string(kWordBytes, '\0')));
  const RemoteFunction create{functions.create, {place + attributes.size(), place, functions.sleep, mark}};
  if (caller->ContinueWithCall(create, functions.signal_return)) return caller;
  const auto error = LAGWATCH_TRY(caller->Call(create));
  if (error != 0) return HelperFailed("the process could not start a thread");
  caller->Continue();
  return caller;
}

}  // namespace

base::Result<std::unique_ptr<HelperThread>> HelperThread::Start(const AddressSpace& space,
                                                                const LoadedLibrary& libc) {
  const auto functions = LAGWATCH_TRY(FindFunctions(space.pid(), libc));
  EndLeft(space);
  const std::vector<pid_t> others = ThreadsOf(space.pid());
  const Mark mark = MakeMark();
  const auto caller = LAGWATCH_TRY(StartThread(space, functions, mark));
  auto helper = Find(space, mark, others);
  if (helper == nullptr) return HelperFailed("the process could not start a thread");
  helper->signal_return_ = functions.signal_return;
  helper->pause_ = functions.pause;
  helper->stop_ns_ = caller->stop_ns();
  return helper;
}

void HelperThread::EndLeft(const AddressSpace& space) {
  constexpr size_t kMostBytes = 16 * 1024;
  constexpr Mark kLeft = 0;
  for (const pid_t tid : ThreadsOf(space.pid())) {
    if (!MayBeMarked(space.pid(), tid, kLeft, kMostBytes)) continue;
    HelperThread left(space, tid, kLeft);
  }
}

// Null if there is none in time.
std::unique_ptr<HelperThread> HelperThread::Find(const AddressSpace& space, Mark mark,
                                                 const std::vector<pid_t>& others) {
  constexpr size_t kMostBytes = 1024 * 1024;  // with the thread-locals of libraries
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kHelperStartNs;
  do {
    for (const pid_t tid : ThreadsOf(space.pid())) {
      if (std::ranges::find(others, tid) != others.end()) continue;
      if (!MayBeMarked(space.pid(), tid, mark, kMostBytes)) continue;
      std::unique_ptr<HelperThread> helper(new HelperThread(space, tid, mark));
      if (helper->Stop()) {
        Release(tid);
        return helper;
      }
      helper->is_lost_ = true;
    }
    nanosleep(&kHelperPause, nullptr);
  } while (base::SystemClock().MonoNs() < deadline_ns);
  return nullptr;
}

HelperThread::~HelperThread() {
  if (is_lost_ || !Stop()) return;
  ThreadRegisters registers = rest_->registers;
  EndSyscall(&registers);
  WriteRegisters(tid_, registers);
  Release(tid_);
  const std::string folder = TaskFolder(space_->pid(), tid_);
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kHelperStartNs;
  while (access(folder.c_str(), F_OK) == 0 && base::SystemClock().MonoNs() < deadline_ns)
    nanosleep(&kHelperPause, nullptr);
}

// Exact for a stopped thread, whose block it knows: old words elsewhere do not count.
bool HelperThread::IsMarked(const ThreadRegisters& registers) const {
  std::vector<uint64_t> block(kThreadBlockBytes / kWordBytes);
  const uint64_t address = ThreadBlockOf(tid_, registers);
  block.resize(space_->Read(address, block.data(), kThreadBlockBytes) / kWordBytes);
  return std::ranges::any_of(block, [this](uint64_t word) { return IsMark(word, mark_); });
}

// Stops the helper where it rests. One that was released a moment ago may not be there again.
bool HelperThread::Stop() {
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kHelperStartNs;
  do {
    const HelperPlace place =
        IsRest(ReadSyscall(space_->pid(), tid_).number) ? StopOnce() : HelperPlace::kElsewhere;
    if (place == HelperPlace::kResting) return true;
    if (place == HelperPlace::kNotOurs || access(TaskFolder(space_->pid(), tid_).c_str(), F_OK) != 0)
      return false;
    nanosleep(&kHelperPause, nullptr);
  } while (base::SystemClock().MonoNs() < deadline_ns);
  return false;
}

// Stops a thread, and leaves it so if it rests.
HelperThread::HelperPlace HelperThread::StopOnce() {
  if (ptrace(PTRACE_SEIZE, tid_, 0, 0) != 0) return HelperPlace::kNotOurs;
  ptrace(PTRACE_INTERRUPT, tid_, 0, 0);
  int status = 0;
  if (AwaitStop(tid_, kHelperStartNs, &status) != Stopping::kStopped) return HelperPlace::kNotOurs;
  HelperPlace place = HelperPlace::kNotOurs;
  ThreadState state;
  if (SignalOf(status) == 0 && space_->IsOf(tid_) && state.Read(tid_) && IsMarked(state.registers)) {
    const bool is_resting = IsRest(ReadSyscall(space_->pid(), tid_).number) &&
                            IsRestart(-static_cast<int64_t>(ResultOf(state.registers)));
    place = is_resting ? HelperPlace::kResting : HelperPlace::kElsewhere;
  }
  if (place != HelperPlace::kResting) {
    Release(tid_, SignalOf(status));
    return place;
  }
  if (!rest_) stack_pointer_ = StackPointerOf(state.registers) - kHelperKeptBytes;
  if (!rest_) rest_ = std::move(state);
  return place;
}

base::Result<uint64_t> HelperThread::Copy(const std::string& bytes) {
  const uint64_t address = (stack_pointer_ - bytes.size() - 1) & ~uint64_t{15};
  if (!space_->Write(address, bytes.c_str(), bytes.size() + 1))
    return base::IoError("cannot write to the memory of process " + std::to_string(space_->pid()), errno);
  stack_pointer_ = address;
  return address;
}

base::Result<std::string> HelperThread::Read(uint64_t address, size_t bytes) const {
  std::string text(bytes, '\0');
  if (space_->Read(address, text.data(), bytes) != bytes)
    return base::IoError("cannot read the memory of process " + std::to_string(space_->pid()), errno);
  text.resize(text.find('\0') == std::string::npos ? bytes : text.find('\0'));
  return text;
}

// Sets the stopped helper's registers. `lowest`: of its stack pointers when it rests again.
bool HelperThread::SetCall(const RemoteFunction& function, uint64_t* lowest) {
  const uint64_t top = StackPointerOf(rest_->registers);
  const uint64_t time = SleepTimeOf(rest_->registers);
  const timespec whole{.tv_sec = kSleepS, .tv_nsec = 0};
  // The kernel has replaced it by what was left of it.
  if (time >= top && time < top + kThreadBlockBytes && !space_->Write(time, &whole, sizeof whole))
    return false;
  *lowest = top;
  if (SetReturningCall(*space_, tid_, *rest_, stack_pointer_, signal_return_, function)) return true;
  if (signal_return_ != 0) return false;
  ThreadRegisters registers = rest_->registers;
  const uint64_t returns[] = {pause_, pause_};
  uint64_t return_slot = 0;
  PrepareCall(function.address, function.arguments, (stack_pointer_ & ~uint64_t{15}) - sizeof returns,
              &registers, &return_slot, pause_);
  *lowest = StackPointerOf(registers) - kPauseFrameBytes;
  return (return_slot == 0 || space_->Write(return_slot, returns, sizeof returns)) &&
         WriteRegisters(tid_, registers);
}

bool HelperThread::AwaitRest(uint64_t lowest, uint64_t highest) const {
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kHelperCallNs;
  do {
    const ThreadSyscall syscall = ReadSyscall(space_->pid(), tid_);
    if (IsRest(syscall.number) && syscall.stack_pointer >= lowest && syscall.stack_pointer <= highest)
      return true;
    if (access(TaskFolder(space_->pid(), tid_).c_str(), F_OK) != 0) return false;  // it has ended
    nanosleep(&kHelperPause, nullptr);
  } while (base::SystemClock().MonoNs() < deadline_ns);
  return false;
}

base::Status HelperThread::Call(uint64_t address, const std::vector<uint64_t>& arguments) {
  const ScopedSignalBlock block;
  if (is_lost_ || !Stop()) return HelperFailed("the helper thread has ended");
  uint64_t lowest = 0;
  const bool is_set = SetCall({address, arguments}, &lowest);
  Release(tid_);
  if (!is_set) return base::IoError("cannot set the helper thread's registers", errno);
  const uint64_t top = StackPointerOf(rest_->registers);
  if (AwaitRest(lowest, lowest == top ? top : lowest + kPauseFrameBytes + sizeof(uint64_t[2]))) return {};
  is_lost_ = true;
  const std::string pid = std::to_string(space_->pid());
  const bool waits = ReadSyscall(space_->pid(), tid_).number == SYS_futex;
  return HelperFailed("a call in process " + pid + " does not return" +
                      (waits ? ": it waits for a lock, probably the loader's, which a thread has that is "
                               "still loading a library; `lagwatch why " +
                                   pid + "` looks from outside"
                             : ""));
}

}  // namespace lagwatch::tools
