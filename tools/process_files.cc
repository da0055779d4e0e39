// SPDX-License-Identifier: Apache-2.0
#include "tools/process_files.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "base/text.h"

namespace lagwatch::tools {

namespace fs = std::filesystem;

std::string LineIn(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

fs::path ProcessFolder(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::string CommandOf(pid_t pid) { return LineIn(ProcessFolder(pid) / "comm"); }

std::string StatusField(pid_t pid, std::string_view name) {
  std::ifstream file(ProcessFolder(pid) / "status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    const size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

std::string VariableOf(pid_t pid, const std::string& name) {
  std::ifstream file(ProcessFolder(pid) / "environ", std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return {};
}

pid_t OwnPidOf(pid_t pid) {
  const std::string pids = StatusField(pid, "NSpid");
  return base::ParseNumber<pid_t>(pids.substr(pids.find_last_of(" \t") + 1)).value_or(pid);
}

base::OwnedFd OpenInRootOf(pid_t pid, const std::string& path, int flags) {
  const base::OwnedFd root(open((ProcessFolder(pid) / "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  if (!root) return {};
  constexpr int kMostTries = 10;
  long file = -1;
  for (int i = 0; i < kMostTries; ++i) {
    file = syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how);
    if (file >= 0 || errno != EAGAIN) break;  // something was renamed meanwhile
  }
  return base::OwnedFd(static_cast<int>(file));
}

base::Status CheckMayLookInto(pid_t pid) {
  const std::string number = std::to_string(pid);
  struct stat process {};
  if (stat(ProcessFolder(pid).c_str(), &process) != 0)
    return {base::StatusCode::kNotFound, "no such process: " + number};
  if (StatusField(pid, "State").starts_with("Z")) {  // the kernel has given its memory back
    if (StatusField(pid, "Threads") == "1")
      return {base::StatusCode::kNotFound,
              "process " + number + " has ended, and its parent has not noticed yet"};
    return {base::StatusCode::kInvalid,
            "the main thread of process " + number +
                " has ended, so the kernel shows nothing of the others: `lagwatch run` "
                "watches such a program from its start"};
  }
  std::ifstream maps(ProcessFolder(pid) / "maps");
  if (maps.good()) return {};
  std::string why;
  if (geteuid() == 0) {
    why =
        " may not be read, not even by root (without CAP_SYS_PTRACE, as in most containers, or by a rule of "
        "a "
        "security module)";
  } else if (process.st_uid != geteuid()) {
    why = " belongs to another user: run lagwatch as that user or as root (sudo)";
  } else {
    why = " may not be read (a setuid program, or one that forbids dumps): run lagwatch as root (sudo)";
  }
  return {base::StatusCode::kInvalid, "process " + number + why};
}

base::Status CheckWordSize(pid_t pid) {
  constexpr size_t kClassAt = 4;  // in the file's first bytes: elf(5)
  char head[kClassAt + 1] = {};
  std::ifstream file(ProcessFolder(pid) / "exe", std::ios::binary);
  file.read(head, sizeof head);
  if (head[kClassAt] != ELFCLASS32) return {};
  return {base::StatusCode::kInvalid,
          "it is a 32-bit program, whose calls and stacks this lagwatch does not know: "
          "build it for 64 bits"};
}

bool HasWatchdog(pid_t pid) {
  std::error_code error;
  const auto threads = fs::directory_iterator(ProcessFolder(pid) / "task", error);
  return !error && std::ranges::any_of(threads, [](const fs::directory_entry& thread) {
    return LineIn(thread.path() / "comm") == "lagwatch";
  });
}

}  // namespace lagwatch::tools
