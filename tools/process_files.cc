// SPDX-License-Identifier: Apache-2.0
#include "tools/process_files.h"

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

bool HasWatchdog(pid_t pid) {
  std::error_code error;
  const auto threads = fs::directory_iterator(ProcessFolder(pid) / "task", error);
  return !error && std::ranges::any_of(threads, [](const fs::directory_entry& thread) {
    return LineIn(thread.path() / "comm") == "lagwatch";
  });
}

}  // namespace lagwatch::tools
