// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/asked_commands.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>

#include "base/clock.h"
#include "base/process/own_command.h"
#include "tools/read/output.h"

namespace lagwatch::tools {

AskedCommands::~AskedCommands() {
  for (size_t i = 0; i < running_.size(); ++i) {
    const pid_t child = running_[i];
    const bool is_for_a_time = requests_[i].kind != probe::RequestKind::kDump;
    if (child != 0 && is_for_a_time) kill(child, SIGINT);
  }
  for (const pid_t child : running_) {
    while (child != 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

std::vector<std::string> AskedCommands::CommandFor(const probe::Request& request) const {
  const std::string pid = std::to_string(target_);
  const uint64_t seconds = (request.duration_ns + base::kNsPerSecond - 1) / base::kNsPerSecond;
  switch (request.kind) {
    case probe::RequestKind::kDump:
      return {"why", pid};
    case probe::RequestKind::kTrace:
      return {"trace", "record", "--pid", pid, "--duration", std::to_string(seconds)};
    case probe::RequestKind::kArm:
      return {"probe", pid, request.script, "--for", std::to_string(seconds) + "s"};
  }
  return {};
}

void AskedCommands::Start(uint64_t requests) {
  running_.resize(requests_.size());
  for (size_t i = 0; i < requests_.size(); ++i) {
    if ((requests >> i & 1) == 0) continue;
    pid_t& child = running_[i];
    if (child != 0 && waitpid(child, nullptr, WNOHANG) == 0) continue;
    child = 0;
    base::OwnCommand own = base::CommandOf(base::kSelf, "lagwatch");
    for (std::string& argument : CommandFor(requests_[i])) own.arguments.push_back(std::move(argument));
    std::vector<char*> arguments;
    for (std::string& argument : own.arguments) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    // In a group of its own: Ctrl-C reaches it by the console alone, once.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int error = posix_spawn(&child, own.file.c_str(), nullptr, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      child = 0;
      Fail("probe: cannot start a command that the script asks for");
    }
  }
}

}  // namespace lagwatch::tools
