// SPDX-License-Identifier: Apache-2.0
#include "tools/process_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

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

base::Status CheckMayLookInto(pid_t pid) {
  const std::string number = std::to_string(pid);
  struct stat process {};
  if (stat(ProcessFolder(pid).c_str(), &process) != 0)
    return {base::StatusCode::kNotFound, "no such process: " + number};
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

bool HasWatchdog(pid_t pid) {
  std::error_code error;
  const auto threads = fs::directory_iterator(ProcessFolder(pid) / "task", error);
  return !error && std::ranges::any_of(threads, [](const fs::directory_entry& thread) {
    return LineIn(thread.path() / "comm") == "lagwatch";
  });
}

}  // namespace lagwatch::tools
