// SPDX-License-Identifier: Apache-2.0
#include "tools/mcp/own_output.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "base/process/own_command.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kMostOutputBytes = 1 << 20;

// In a process group of its own. -1 if it cannot be started.
pid_t Spawn(base::OwnCommand command, int output_fd) {
  std::vector<char*> arguments;
  for (std::string& argument : command.arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output_fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output_fd, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, command.file.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? pid : -1;
}

bool AwaitReadable(int fd, int64_t end_ms) {
  for (;;) {
    const int64_t left_ms = end_ms - base::SystemClock().MonoNs() / base::kNsPerMs;
    pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<int64_t>(left_ms, 0)));
    if (ready > 0 || (ready == 0 && left_ms <= 0)) return ready > 0;
  }
}

// Reads until all writers have closed the pipe. False if that takes too long.
bool ReadOutput(int fd, int64_t end_ms, std::string* text) {
  char chunk[4096];
  while (AwaitReadable(fd, end_ms)) {
    const ssize_t size = read(fd, chunk, sizeof chunk);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    if (text->size() < kMostOutputBytes) text->append(chunk, static_cast<size_t>(size));
  }
  return false;
}

// The exit status; none if it takes too long.
std::optional<int> AwaitEnd(pid_t pid, int64_t end_ms) {
  const base::OwnedFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (process && !AwaitReadable(process.get(), end_ms)) return std::nullopt;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

base::Result<OwnOutput> OutputOfOwn(const std::vector<std::string>& arguments, int64_t limit_ms) {
  base::OwnCommand command = base::CommandOf(base::kSelf, "lagwatch");
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::IoError("no pipe", errno);
  const base::OwnedFd reading(ends[0]);
  base::OwnedFd writing(ends[1]);
  const pid_t pid = Spawn(std::move(command), writing.get());
  writing.Close();
  if (pid < 0) return base::Status(base::StatusCode::kUnavailable, "lagwatch cannot be started");
  const int64_t end_ms = base::SystemClock().MonoNs() / base::kNsPerMs + limit_ms;
  OwnOutput output;
  const bool is_whole = ReadOutput(reading.get(), end_ms, &output.text);
  const std::optional<int> status = is_whole ? AwaitEnd(pid, end_ms) : std::nullopt;
  if (!status) {
    constexpr int64_t kGraceMs = 1000;  // one in uninterruptible sleep is left
    kill(-pid, SIGKILL);
    AwaitEnd(pid, end_ms + kGraceMs);
    return base::Status(base::StatusCode::kUnavailable, "lagwatch " + arguments.front() +
                                                            " was ended: it took longer than " +
                                                            std::to_string(limit_ms / 1000) + " s");
  }
  if (!WIFEXITED(*status))
    return base::Status(base::StatusCode::kUnavailable,
                        "lagwatch " + arguments.front() + " was ended by a signal");
  output.exit_code = WEXITSTATUS(*status);
  return output;
}

}  // namespace lagwatch::tools
