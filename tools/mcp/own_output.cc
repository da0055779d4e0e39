// SPDX-License-Identifier: Apache-2.0
#include "tools/mcp/own_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/owned_fd.h"
#include "base/process/own_command.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kMostOutputBytes = 1 << 20;

// -1 if it cannot be started.
pid_t Spawn(base::OwnCommand command, int output_fd) {
  std::vector<char*> arguments;
  for (std::string& argument : command.arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output_fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output_fd, STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, command.file.c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? pid : -1;
}

}  // namespace

base::Result<OwnOutput> OutputOfOwn(const std::vector<std::string>& arguments) {
  base::OwnCommand command = base::CommandOf(base::kSelf, "lagwatch");
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::IoError("no pipe", errno);
  const base::OwnedFd reading(ends[0]);
  base::OwnedFd writing(ends[1]);
  const pid_t pid = Spawn(std::move(command), writing.get());
  writing.Close();
  if (pid < 0) return base::Status(base::StatusCode::kUnavailable, "lagwatch cannot be started");
  OwnOutput output;
  char chunk[4096];
  for (ssize_t size = 0; (size = read(reading.get(), chunk, sizeof chunk)) > 0;)
    if (output.text.size() < kMostOutputBytes) output.text.append(chunk, static_cast<size_t>(size));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status))
    return base::Status(base::StatusCode::kUnavailable,
                        "lagwatch " + arguments.front() + " was ended by a signal");
  output.exit_code = WEXITSTATUS(status);
  return output;
}

}  // namespace lagwatch::tools
