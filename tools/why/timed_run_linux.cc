// SPDX-License-Identifier: Apache-2.0
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/text.h"
#include "tools/process_files.h"
#include "tools/why/timed_run.h"

namespace lagwatch::tools {
namespace {

constexpr int64_t kGraceMs = 5000;

std::atomic<pid_t> command_pid{0};

// The terminal's own signals go to the command as well.
void PassOn(int signal_number, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  const bool is_of_terminal = info != nullptr && info->si_code == SI_KERNEL;
  if (const pid_t pid = command_pid.load(); pid > 0 && !is_of_terminal) kill(pid, signal_number);
  errno = error;
}

void PassSignalsOn() {
  struct sigaction pass {};
  pass.sa_sigaction = &PassOn;
  pass.sa_flags = SA_RESTART | SA_SIGINFO;
  sigaction(SIGTERM, &pass, nullptr);
  sigaction(SIGINT, &pass, nullptr);
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

// The command's end.
class CommandEnd {
 public:
  explicit CommandEnd(pid_t pid) : pid_(pid) {}

  // Whether it has ended. Takes the exit status of it and of its processes whose parents have ended, which no
  // one else does.
  bool Reap() {
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
      if (ended != pid_) continue;
      command_pid.store(0);
      status_ = status;
    }
    has_children_ = ended == 0;
    return status_.has_value();
  }
  // Whether some of its processes are left. After Reap().
  bool has_children() const { return has_children_; }
  int exit_code() const {
    constexpr int kSignalled = 128;
    return WIFSIGNALED(*status_) ? kSignalled + WTERMSIG(*status_) : WEXITSTATUS(*status_);
  }

 private:
  pid_t pid_;
  std::optional<int> status_;
  bool has_children_ = true;
};

// Calls `is_over()` until that is true, or `end_ms` has come: often at first, so that a short command is not
// kept waiting. Returns whether it was.
template <typename IsOver>
bool AwaitUntil(int64_t end_ms, IsOver is_over) {
  constexpr std::chrono::milliseconds kLongestPause{50};
  for (std::chrono::milliseconds pause{1}; !is_over(); pause = std::min(2 * pause, kLongestPause)) {
    if (NowMs() >= end_ms) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
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
  std::vector<pid_t> tree;
  const auto own = children.equal_range(getpid());
  for (auto child = own.first; child != own.second; ++child)
    tree.insert(child->second == root ? tree.begin() : tree.end(), child->second);
  for (size_t i = 0; i < tree.size(); ++i) {
    const auto range = children.equal_range(tree[i]);
    for (auto child = range.first; child != range.second; ++child) tree.push_back(child->second);
  }
  return tree;
}

void EndTree(pid_t root, CommandEnd* end) {
  const auto has_ended = [&] {
    end->Reap();
    return !end->has_children();
  };
  for (const pid_t pid : TreeOf(root)) kill(pid, SIGTERM);
  if (AwaitUntil(NowMs() + kGraceMs, has_ended)) return;
  // One that has just been started is found at the next look. One in uninterruptible sleep is left in the
  // end.
  AwaitUntil(NowMs() + kGraceMs, [&] {
    for (const pid_t pid : TreeOf(root)) kill(pid, SIGKILL);
    return has_ended();
  });
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
  PassSignalsOn();
  const pid_t pid = LAGWATCH_TRY(Start(command));
  command_pid.store(pid);
  CommandEnd end(pid);
  if (AwaitUntil(NowMs() + timeout_ms, [&] { return end.Reap(); })) return end.exit_code();
  explain(TreeOf(pid));
  EndTree(pid, &end);
  return kTimedOut;
}

}  // namespace lagwatch::tools
