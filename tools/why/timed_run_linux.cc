// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "base/process/proc_file.h"
#include "base/text.h"
#include "tools/process_files.h"
#include "tools/why/timed_run.h"

namespace lagwatch::tools {
namespace {

constexpr int64_t kGraceMs = 5000;

std::atomic<pid_t> command_pid{0};

void PassOn(int signal_number) {
  const int error = errno;
  if (const pid_t pid = command_pid.load(); pid > 0) kill(pid, signal_number);
  errno = error;
}

int64_t NowMs() { return base::SystemClock().MonoNs() / base::kNsPerMs; }

base::Result<pid_t> Start(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // Processes whose parents have ended stay in the tree.
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error != 0)
    return base::Status(base::StatusCode::kNotFound, command.front() + ": " + std::strerror(error));
  return pid;
}

// Whether it has ended by `end_ms`.
bool AwaitEnd(int pid_fd, int64_t end_ms) {
  pollfd ended{.fd = pid_fd, .events = POLLIN, .revents = 0};
  for (int64_t left_ms = end_ms - NowMs(); left_ms > 0; left_ms = end_ms - NowMs()) {
    const auto wait_ms = static_cast<int>(std::min<int64_t>(left_ms, INT32_MAX));
    if (poll(&ended, 1, wait_ms) > 0) return true;
  }
  return poll(&ended, 1, 0) > 0;
}

// `root`, and the processes that it has started, parents before their children.
std::vector<pid_t> TreeOf(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  base::ForEachNumberIn("/proc", [&](int pid) {
    const auto parent = base::ParseNumber<pid_t>(StatusField(pid, "PPid"));
    if (parent && pid != getpid()) children.emplace(*parent, pid);
    return true;
  });
  // Those whose parents have ended are this process's.
  std::vector<pid_t> tree = {root};
  const auto own = children.equal_range(getpid());
  for (auto child = own.first; child != own.second; ++child)
    if (child->second != root) tree.push_back(child->second);
  for (size_t i = 0; i < tree.size(); ++i) {
    const auto range = children.equal_range(tree[i]);
    for (auto child = range.first; child != range.second; ++child) tree.push_back(child->second);
  }
  return tree;
}

void EndTree(pid_t root, int pid_fd) {
  for (const pid_t pid : TreeOf(root)) kill(pid, SIGTERM);
  AwaitEnd(pid_fd, NowMs() + kGraceMs);
  for (const pid_t pid : TreeOf(root)) kill(pid, SIGKILL);
  // All of them become this process's children. One in uninterruptible sleep is left.
  const int64_t end_ms = NowMs() + kGraceMs;
  for (pid_t ended = 0; ended >= 0 && NowMs() < end_ms;) {
    ended = waitpid(-1, nullptr, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (ended < 0 && errno == EINTR) ended = 0;
  }
}

}  // namespace

std::optional<int64_t> ParseDuration(const std::string& text) {
  if (text.empty()) return std::nullopt;
  constexpr int64_t kMostS = 365 * 86'400;
  int64_t unit_s = 1;
  std::string number = text;
  if (const char unit = text.back(); unit == 's' || unit == 'm' || unit == 'h') {
    unit_s = unit == 'h' ? 3600 : unit == 'm' ? 60 : 1;
    number.pop_back();
  }
  const auto count = base::ParseNumber<int64_t>(number);
  if (!count || *count <= 0 || *count > kMostS / unit_s) return std::nullopt;
  return *count * unit_s * 1000;
}

base::Result<int> RunFor(const std::vector<std::string>& command, int64_t timeout_ms,
                         const std::function<void(const std::vector<pid_t>&)>& explain) {
  const pid_t pid = LAGWATCH_TRY(Start(command));
  command_pid.store(pid);
  struct sigaction pass {};
  pass.sa_handler = &PassOn;
  pass.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &pass, nullptr);
  sigaction(SIGINT, &pass, nullptr);
  const base::OwnedFd pid_fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pid_fd) return base::Status(base::StatusCode::kUnavailable, "this kernel has no pidfd_open(2)");
  if (!AwaitEnd(pid_fd.get(), NowMs() + timeout_ms)) {
    explain(TreeOf(pid));
    EndTree(pid, pid_fd.get());
    return kTimedOut;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kSignalled = 128;
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace lagwatch::tools
