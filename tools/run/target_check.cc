// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "sdk/preload/environment/program_file.h"
#include "tools/run/checks.h"

namespace lagwatch::tools {
namespace {

using sdk::ProgramKind;

constexpr char kLinkInstead[] = "; link its code with liblagwatch instead";

Status CannotWatch(const std::string& path, const std::string& why) {
  return {StatusCode::kInvalid, "cannot watch " + path + ": " + why};
}

Status CheckLoader(const std::string& path, const std::string& loader, const std::filesystem::path& library) {
  if (!sdk::IsGlibcLoader(loader.c_str())) {
    return CannotWatch(path, "its loader is " + loader +
                                 ", and the library that is preloaded needs the GNU C library (glibc); run "
                                 "it without lagwatch");
  }
  if (Status status = CheckGlibc(loader, library); !status.ok()) return CannotWatch(path, status.message());
  return {};
}

Status Check(const std::string& path, const std::filesystem::path& library, int interpreters_left) {
  const sdk::ProgramFile program = sdk::ReadProgramFile(AT_FDCWD, path.c_str());
  switch (program.kind) {
    case ProgramKind::kDynamic:
      return CheckLoader(path, program.interpreter, library);
    case ProgramKind::kScript:
      if (interpreters_left == 0) return CannotWatch(path, "its interpreters form a cycle");
      return Check(program.interpreter, library, interpreters_left - 1);
    case ProgramKind::kSanitized:
      return CannotWatch(path,
                         "the runtime of AddressSanitizer must be its first library; build it with "
                         "-static-libasan");
    case ProgramKind::kStatic:
      return CannotWatch(path, std::string("it is statically linked") + kLinkInstead);
    case ProgramKind::kOtherMachine:
      return CannotWatch(path, "it is built for another kind of processor than this lagwatch");
    case ProgramKind::kPrivileged:
      return CannotWatch(path, std::string("it runs with other privileges than yours (setuid, setgid or "
                                           "file capabilities), so the loader ignores preloaded libraries") +
                                   kLinkInstead);
    case ProgramKind::kUnknown:
      return CannotWatch(path, "it is neither an ELF program nor a script");
    case ProgramKind::kUnreadable:
      break;
  }
  return CannotWatch(path, std::strerror(program.error));
}

}  // namespace

base::Result<std::string> FindProgram(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    struct stat status {};
    if (stat(command.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
      return base::Status(StatusCode::kInvalid, command + ": " + std::strerror(EISDIR));
    if (access(command.c_str(), X_OK) == 0) return command;
    return base::Status(StatusCode::kNotFound, command + ": " + std::strerror(errno));
  }
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string candidate = (directory.empty() ? "." : directory) + "/" + command;
    struct stat status {};
    if (stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return base::Status(StatusCode::kNotFound, command + ": no such program in PATH");
}

base::Status CheckCanPreload(const std::string& path, const std::filesystem::path& library) {
  return Check(path, library, sdk::kMaxScriptInterpreters);
}

}  // namespace lagwatch::tools
