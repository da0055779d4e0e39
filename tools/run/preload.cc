// SPDX-License-Identifier: Apache-2.0
#include "tools/run/preload.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>

#include "base/process/seccomp.h"
#include "tools/run/checks.h"

namespace lagwatch::tools {
namespace fs = std::filesystem;

fs::path OwnProgram() { return fs::read_symlink("/proc/self/exe"); }

fs::path FindOwnFile(const char* name) {
  const fs::path folder = OwnProgram().parent_path();
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
  config.seccomp_filters = base::ReadSeccomp().filters;
  std::string preload = library.string();
  if (const char* previous = std::getenv("LD_PRELOAD")) {
    config.had_preload = true;
    config.previous_preload = previous;
    if (*previous != '\0') preload += ":" + config.previous_preload;
  }
  if (config.HasLineEnd())
    return base::Status(base::StatusCode::kInvalid, "options must not contain line ends");
  return PreloadEnvironment{std::move(preload), config.ToText()};
}

void PreloadEnvironment::Set() const {
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv(sdk::kPreloadConfigVariable, config.c_str(), 1);
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
