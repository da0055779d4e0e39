// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/proc_file.h"
#include "stack/thread_state.h"

namespace lagwatch::stack {

bool BlockedThread::RestartsAfterSignal() const {
  switch (syscall_number) {
    case SYS_futex: {
      constexpr uint64_t kOperationMask = ~uint64_t{FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME};
      uint64_t operation = arguments[1] & kOperationMask;
      uint64_t timeout = arguments[3];
      bool is_wait = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET || operation == FUTEX_LOCK_PI;
      return is_wait && timeout == 0;
    }
    case SYS_wait4:
    case SYS_waitid:
    case SYS_flock:
      return true;
    default:
      return false;
  }
}

namespace {

constexpr size_t kMostActivityBytes = 256;

ThreadActivity ParseActivity(std::string_view text, BlockedThread* blocked) {
  if (text.empty()) return ThreadActivity::kGone;
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
  return ThreadActivity::kBlocked;
}

}  // namespace

ThreadActivity ReadThreadActivity(int tid, BlockedThread* blocked) {
  char buffer[kMostActivityBytes];
  return ParseActivity(base::ReadSmallFile(base::TaskPath(tid, "syscall").c_str(), buffer, sizeof buffer),
                       blocked);
}

int OpenThreadActivity(int tid) { return open(base::TaskPath(tid, "syscall").c_str(), O_RDONLY | O_CLOEXEC); }

ThreadActivity ReadThreadActivity(int tid, int activity_fd, BlockedThread* blocked) {
  if (activity_fd < 0) return ReadThreadActivity(tid, blocked);
  char buffer[kMostActivityBytes];
  const ssize_t size = pread(activity_fd, buffer, sizeof buffer, 0);
  return ParseActivity({buffer, static_cast<size_t>(std::max<ssize_t>(size, 0))}, blocked);
}

bool IsSignalBlocked(int tid, int signal_number) {
  char buffer[4096];
  std::string_view text = base::ReadSmallFile(base::TaskPath(tid, "status").c_str(), buffer, sizeof buffer);
  constexpr std::string_view kField = "\nSigBlk:\t";
  size_t at = text.find(kField);
  if (at == std::string_view::npos) return true;
  text.remove_prefix(at + kField.size());
  uint64_t mask;
  return !base::ConsumeHex(&text, &mask) || (mask >> (signal_number - 1) & 1) != 0;
}

char ReadThreadStateLetter(int tid) {
  char buffer[512];
  std::string_view text = base::ReadSmallFile(base::TaskPath(tid, "stat").c_str(), buffer, sizeof buffer);
  size_t name_end = text.rfind(')');  // the name itself may hold anything
  return name_end == std::string_view::npos || name_end + 2 >= text.size() ? '?' : text[name_end + 2];
}

void ReadWaitChannel(int tid, char* channel, uint64_t size_bytes) {
  std::string_view text = base::ReadSmallFile(base::TaskPath(tid, "wchan").c_str(), channel, size_bytes - 1);
  channel[text == "0" ? 0 : text.size()] = '\0';
}

int ReadTracer() {
  char buffer[1024];
  std::string_view text = base::ReadSmallFile("/proc/self/status", buffer, sizeof buffer);
  constexpr std::string_view kField = "\nTracerPid:\t";
  size_t at = text.find(kField);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + kField.size());
  uint64_t pid;
  return base::ConsumeDecimal(&text, &pid) ? static_cast<int>(pid) : 0;
}

void ReadThreadName(int tid, char* name, uint64_t size_bytes) {
  // A thread of the program opens no file for it.
  constexpr size_t kKernelNameBytes = 16;
  if (size_bytes >= kKernelNameBytes && tid == gettid() && prctl(PR_GET_NAME, name) == 0) return;
  std::string_view text = base::ReadSmallFile(base::TaskPath(tid, "comm").c_str(), name, size_bytes - 1);
  name[text.size()] = '\0';
  if (char* line_end = std::strchr(name, '\n')) *line_end = '\0';
}

}  // namespace lagwatch::stack
