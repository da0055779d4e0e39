// SPDX-License-Identifier: Apache-2.0
#include "collector/http/measures/process_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace lagwatch::collector {
namespace {

// The fields of /proc/self/stat from the third on: the second is a name with any characters, in parentheses.
std::vector<std::string> StatFields() {
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.erase(0, text.rfind(')') + 1);
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

double BootWallS() {
  std::ifstream file("/proc/stat");
  for (std::string name; file >> name; file.ignore(1 << 20, '\n')) {
    double seconds = 0;
    if (name == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

}  // namespace

ProcessUse ProcessUse::OfThis() {
  ProcessUse use;
  rusage times{};
  if (getrusage(RUSAGE_SELF, &times) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    use.cpu_s = seconds(times.ru_utime) + seconds(times.ru_stime);
  }
  constexpr size_t kStartField = 19;  // proc(5) counts from 1, with the first two
  const std::vector<std::string> fields = StatFields();
  if (fields.size() > kStartField + 2) {
    use.start_wall_s =
        BootWallS() + std::stod(fields[kStartField]) / static_cast<double>(sysconf(_SC_CLK_TCK));
    use.virtual_bytes = std::stoull(fields[kStartField + 1]);
    use.resident_bytes = std::stoull(fields[kStartField + 2]) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error))
    ++use.open_fds;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) use.most_fds = files.rlim_cur;
  return use;
}

}  // namespace lagwatch::collector
