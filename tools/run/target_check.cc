// SPDX-License-Identifier: Apache-2.0
#include "tools/run/target_check.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

namespace lagwatch::tools {
namespace {

using base::Status;
using base::StatusCode;

constexpr char kLinkInstead[] = "; link its code with liblagwatch instead";
constexpr int kMaxInterpreters = 4;  // the kernel's own limit is 4 too

#if defined(__x86_64__)
constexpr int kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kOwnMachine = EM_AARCH64;
#endif

Status CannotWatch(const std::string& path, const std::string& why) {
  return {StatusCode::kInvalid, "cannot watch " + path + ": " + why};
}

bool IsPrivileged(const std::string& path, const struct stat& status) {
  bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
  bool changes_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getgid();
  return changes_user || changes_group || getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

// "#!/usr/bin/env python3" -> "/usr/bin/env"
std::string InterpreterOf(const std::string& head) {
  std::istringstream line(head.substr(2, head.find('\n') - 2));
  std::string interpreter;
  line >> interpreter;
  return interpreter;
}

Status CheckElf(const std::string& path, std::ifstream* file) {
  ElfW(Ehdr) elf{};
  file->seekg(0);
  file->read(reinterpret_cast<char*>(&elf), sizeof elf);
  if (file->gcount() < EI_NIDENT || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) {
    return CannotWatch(path, "it is neither an ELF program nor a script");
  }
  if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != kOwnMachine) {
    return CannotWatch(path, "it is built for another kind of processor than this lagwatch");
  }
  std::vector<ElfW(Phdr)> segments(elf.e_phnum);
  file->seekg(static_cast<std::streamoff>(elf.e_phoff));
  file->read(reinterpret_cast<char*>(segments.data()),
             static_cast<std::streamsize>(segments.size() * sizeof segments[0]));
  bool is_dynamic = std::any_of(segments.begin(), segments.end(),
                                [](const auto& segment) { return segment.p_type == PT_INTERP; });
  if (!is_dynamic) return CannotWatch(path, std::string("it is statically linked") + kLinkInstead);
  return {};
}

Status Check(const std::string& path, int interpreters_left) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return CannotWatch(path, std::strerror(errno));
  if (IsPrivileged(path, status)) {
    return CannotWatch(path, std::string("it runs with other privileges than yours (setuid, setgid or file "
                                         "capabilities), so the loader ignores preloaded libraries") +
                                 kLinkInstead);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return CannotWatch(path, "it cannot be read");
  std::string head(256, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  file.clear();
  if (head.starts_with("#!")) {
    if (interpreters_left == 0) return CannotWatch(path, "its interpreters never end");
    return Check(InterpreterOf(head), interpreters_left - 1);
  }
  return CheckElf(path, &file);
}

}  // namespace

base::Result<std::string> FindProgram(const std::string& command) {
  if (command.find('/') != std::string::npos) {
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

base::Status CheckCanPreload(const std::string& path) { return Check(path, kMaxInterpreters); }

}  // namespace lagwatch::tools
