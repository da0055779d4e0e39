// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/process/proc_file.h"
#include "sdk/report/program_facts.h"

namespace lagwatch::sdk {
namespace {

constexpr size_t kMaxDistributionBytes = 128;

}  // namespace

std::string DistributionName() {
  char buffer[4096];
  std::string_view text = base::ReadSmallFile("/etc/os-release", buffer, sizeof buffer);
  if (text.empty()) text = base::ReadSmallFile("/usr/lib/os-release", buffer, sizeof buffer);
  constexpr std::string_view kKey = "PRETTY_NAME=";
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    if (line.size() >= 2 && (line[0] == '"' || line[0] == '\'') && line.back() == line[0])
      line = line.substr(1, line.size() - 2);
    return line.size() > kMaxDistributionBytes ? "" : std::string(line);
  }
  return {};
}

}  // namespace lagwatch::sdk
