// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/worker/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <vector>

#include "base/process/own_command.h"
#include "collector/symbols/worker/symbol_worker.h"
#include "collector/symbols/worker/worker_channel.h"

namespace lagwatch::collector {
namespace {

// The child inherits only its socket and the standard error stream: no other descriptor, no blocked signal.
// It has a process group of its own, so that only the collector handles a terminal's Ctrl-C.
class SpawnSettings {
 public:
  explicit SpawnSettings(int socket) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, socket, kWorkerSocket);
    posix_spawn_file_actions_addclosefrom_np(&actions_, kWorkerSocket + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  posix_spawn_file_actions_t* actions() { return &actions_; }
  posix_spawnattr_t* attributes() { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

Status CannotStart(int error_number) {
  return {StatusCode::kUnavailable, base::IoError("cannot start a symbol worker", error_number).message()};
}

}  // namespace

base::Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const std::string& program,
                                                                  const std::string& argument) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return CannotStart(errno);
  SpawnSettings settings(sockets[1]);
  base::OwnCommand command = base::CommandOf(program, "lagwatch-symbols");
  command.arguments.push_back(argument);
  std::vector<char*> arguments;
  for (std::string& text : command.arguments) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  char* environment[] = {nullptr};
  pid_t pid = 0;
  int error_number = posix_spawn(&pid, command.file.c_str(), settings.actions(), settings.attributes(),
                                 arguments.data(), environment);
  close(sockets[1]);
  if (error_number != 0) {
    close(sockets[0]);
    return CannotStart(error_number);
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(pid, sockets[0]));
}

WorkerProcess::~WorkerProcess() {
  close(socket_);
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

base::Result<std::string> WorkerProcess::Ask(std::string_view request, std::span<const int> fds,
                                             std::chrono::milliseconds timeout) {
  const ChannelDeadline deadline = std::chrono::steady_clock::now() + timeout;
  if (Status sent = SendMessage(socket_, request, fds, deadline); !sent.ok()) return sent;
  auto answer = ReceiveMessage(socket_, nullptr, deadline);
  has_answered_ |= answer.ok();
  return answer;
}

}  // namespace lagwatch::collector
