// SPDX-License-Identifier: Apache-2.0
#include "tools/run/preload.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>
#include <vector>

#include "base/process/own_command.h"
#include "base/system/seccomp.h"
#include "tools/run/checks.h"

namespace lagwatch::tools {
namespace fs = std::filesystem;

fs::path FindOwnFile(const char* name) {
  const fs::path folder = fs::path(base::OwnProgram()).parent_path();
  for (const char* place : {".", "../lib", "../" LAGWATCH_INSTALL_LIBDIR "/lagwatch"}) {
    fs::path file = (folder / place / name).lexically_normal();
    if (fs::exists(file)) return file;
  }
  return {};
}

fs::path FindPreloadLibrary() { return FindOwnFile("liblagwatch-preload.so"); }

base::Result<std::string> FindWatchableProgram(const std::string& command) {
  auto program = FindProgram(command);
  if (!program.ok()) return program;
  if (base::Status status = CheckCanPreload(*program, FindPreloadLibrary()); !status.ok()) return status;
  return program;
}

base::Result<PreloadEnvironment> PreparePreload(sdk::PreloadConfig config) {
  const fs::path library = FindPreloadLibrary();
  if (library.empty()) {
    return base::Status(base::StatusCode::kNotFound,
                        "liblagwatch-preload.so is not beside this program: install lagwatch again");
  }
  std::string preload = library.string();
  if (preload.find_first_of(" :") != std::string::npos) {  // they end a name there
    return base::Status(base::StatusCode::kInvalid,
                        "LD_PRELOAD cannot name " + preload +
                            ": move lagwatch into a folder without blanks and colons in its path");
  }
  config.seccomp_filters = base::ReadSeccomp().filters;
  if (const char* previous = std::getenv("LD_PRELOAD"); previous != nullptr && *previous != '\0')
    preload.append(":").append(previous);
  if (config.HasLineEnd())
    return base::Status(base::StatusCode::kInvalid, "options must not contain line ends");
  return PreloadEnvironment{std::move(preload), config.ToText()};
}

void PreloadEnvironment::Set() const {
  // Leaked: they are for exec(2). Not by setenv(), which changes an LD_PRELOAD of the user's in its place.
  static const std::string own[] = {"LD_PRELOAD=" + preload, sdk::kPreloadConfigVariable + ("=" + config)};
  static std::vector<char*> variables;
  unsetenv(sdk::kPreloadConfigVariable);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    variables.push_back(*variable);
  for (const std::string& variable : own) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  environ = variables.data();
}

int BecomeProgram(const std::string& program, std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  std::cerr << "lagwatch: cannot run " << program << ": " << std::strerror(errno) << "\n";
  return 126;  // as a shell says it
}

}  // namespace lagwatch::tools
