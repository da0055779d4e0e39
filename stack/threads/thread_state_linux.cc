// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {

const base::SystemCall& BlockedThread::call() const { return base::SystemCallOf(syscall_number); }

bool BlockedThread::HasTimeLimit() const { return call().limit.IsSet(arguments); }

int BlockedThread::FutexCommand() const {
  return syscall_number == SYS_futex ? static_cast<int>(arguments[1]) & FUTEX_CMD_MASK : -1;
}

bool BlockedThread::RestartsAfterSignal() const {
  const int command = FutexCommand();
  const bool is_wait = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI;
  return call().is_restarted || (is_wait && !HasTimeLimit());
}

namespace {

constexpr size_t kMostActivityBytes = 256;

ThreadActivity ParseActivity(std::string_view text, BlockedThread* blocked) {
  if (text.starts_with("running")) return ThreadActivity::kRunning;
  *blocked = {};
  uint64_t number = 0;
  if (text.starts_with("-1")) {
    blocked->syscall_number = -1;
    text.remove_prefix(2);
  } else {
    if (!base::ConsumeDecimal(&text, &number)) return ThreadActivity::kRunning;
    blocked->syscall_number = static_cast<int64_t>(number);
    for (uint64_t& argument : blocked->arguments) base::ConsumeHex(&text, &argument);
  }
  if (!base::ConsumeHex(&text, &blocked->stack_pointer) ||
      !base::ConsumeHex(&text, &blocked->program_counter)) {
    return ThreadActivity::kRunning;
  }
  // The main thread's after it has ended.
  if (blocked->stack_pointer == 0) return ThreadActivity::kGone;
  return ThreadActivity::kBlocked;
}

// The activity of a thread, as far as its state shows it.
ThreadActivity ActivityByState(const base::Thread& thread) {
  switch (ReadThreadStateLetter(thread)) {
    case 'R':
      return ThreadActivity::kRunning;
    case 'Z':
    case 'X':
      return ThreadActivity::kGone;
    case '?':
      break;
    default:
      return ThreadActivity::kHidden;
  }
  constexpr int kMostTid = 1 << 22;  // the kernel's PID_MAX_LIMIT; a clock's name has no room for more
  const int64_t cpu_ns = thread.CpuNs();
  if (thread.tid > kMostTid || cpu_ns < 0) return ThreadActivity::kGone;
  return thread.CpuNs() > cpu_ns ? ThreadActivity::kRunning : ThreadActivity::kHidden;
}

ThreadActivity ReadActivityFile(const base::Thread& thread, int fd, BlockedThread* blocked) {
  char buffer[kMostActivityBytes];
  const ssize_t size = pread(fd, buffer, sizeof buffer, 0);
  if (size <= 0) return ActivityByState(thread);
  const ThreadActivity activity = ParseActivity({buffer, static_cast<size_t>(size)}, blocked);
  if (activity == ThreadActivity::kBlocked) NameRestartedCall(thread, blocked);
  return activity;
}

}  // namespace

ThreadActivity ReadThreadActivity(const base::Thread& thread, BlockedThread* blocked) {
  const int fd = OpenThreadFile(thread, ThreadFile::kActivity);
  const ThreadActivity activity = fd < 0 ? ActivityByState(thread) : ReadActivityFile(thread, fd, blocked);
  if (fd >= 0) close(fd);
  return activity;
}

ThreadActivity ReadThreadActivity(const base::Thread& thread, int activity_fd, BlockedThread* blocked) {
  return activity_fd < 0 ? ReadThreadActivity(thread, blocked)
                         : ReadActivityFile(thread, activity_fd, blocked);
}

ThreadActivity ReadThreadActivity(const base::Thread& thread, const ThreadFiles* files,
                                  BlockedThread* blocked) {
  const int fd = files == nullptr ? -1 : files->DescriptorOf(thread.tid, ThreadFile::kActivity);
  return ReadThreadActivity(thread, fd, blocked);
}

bool RestartsHiddenAfterSignal(const base::Thread& thread) {
  // The functions that the kernel names for these calls have changed over time.
  static constexpr std::string_view kCalls[] = {
      "do_wait",     "pipe_read", "anon_pipe_read", "flock_lock_inode_wait", "locks_lock_inode_wait",
      "fcntl_setlk",
  };
  static constexpr std::string_view kFutexes[] = {"futex_do_wait", "futex_wait_queue", "futex_wait_queue_me"};
  if (ReadThreadStateLetter(thread) != 'S') return false;
  char channel[64];
  ReadWaitChannel(thread, channel, sizeof channel);
  const std::string_view function = FunctionOfChannel(channel);
  const auto is_channel = [&](std::string_view name) { return name == function; };
  return std::ranges::any_of(kCalls, is_channel) ||
         (CanRepeatCancellableCalls() && std::ranges::any_of(kFutexes, is_channel));
}

bool IsSignalBlocked(const base::Thread& thread, int signal_number) {
  char buffer[4096];
  std::string_view text =
      base::ReadSmallFile(base::TaskPath(thread, "status").c_str(), buffer, sizeof buffer);
  constexpr std::string_view kField = "\nSigBlk:\t";
  size_t at = text.find(kField);
  if (at == std::string_view::npos) return true;
  text.remove_prefix(at + kField.size());
  uint64_t mask;
  return !base::ConsumeHex(&text, &mask) || (mask >> (signal_number - 1) & 1) != 0;
}

char ReadThreadStateLetter(const base::Thread& thread) {
  char buffer[512];
  std::string_view text = base::ReadSmallFile(base::TaskPath(thread, "stat").c_str(), buffer, sizeof buffer);
  size_t name_end = text.rfind(')');  // the name itself may hold anything
  return name_end == std::string_view::npos || name_end + 2 >= text.size() ? '?' : text[name_end + 2];
}

void ReadWaitChannel(const base::Thread& thread, char* channel, uint64_t size_bytes) {
  std::string_view text =
      base::ReadSmallFile(base::TaskPath(thread, "wchan").c_str(), channel, size_bytes - 1);
  channel[text == "0" ? 0 : text.size()] = '\0';
}

std::string_view FunctionOfChannel(std::string_view channel) { return channel.substr(0, channel.find('.')); }

int ReadTracer(const base::Process& process) {
  char buffer[1024];
  const std::string_view text =
      base::ReadSmallFile(base::ProcessPath(process, "status").c_str(), buffer, sizeof buffer);
  return static_cast<int>(base::NumberInLine(text, "TracerPid:").value_or(0));
}

void ReadThreadName(const base::Thread& thread, char* name, uint64_t size_bytes) {
  // A thread of the program opens no file for it.
  constexpr size_t kKernelNameBytes = 16;
  const bool is_caller = thread.tid == gettid() && !thread.process.is_core();
  if (size_bytes >= kKernelNameBytes && is_caller && prctl(PR_GET_NAME, name) == 0) return;
  std::string_view text = base::ReadSmallFile(base::TaskPath(thread, "comm").c_str(), name, size_bytes - 1);
  name[text.size()] = '\0';
  if (char* line_end = std::strchr(name, '\n')) *line_end = '\0';
}

}  // namespace lagwatch::stack
