// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/process_footprint.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace lagwatch::soak {

std::vector<int> ListThreads() {
  std::vector<int> tids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    tids.push_back(std::stoi(entry.path().filename().string()));
  }
  return tids;
}

std::vector<std::string> ListOpenFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    // The directory itself is open now and gone by the time its link is read.
    std::error_code error;
    std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (error || target.ends_with("/fd")) continue;
    files.push_back(entry.path().filename().string() + " -> " + target);
  }
  std::sort(files.begin(), files.end());
  return files;
}

int64_t ResidentBytes() {
  int64_t size_pages = 0;
  int64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> size_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

}  // namespace lagwatch::soak
