// SPDX-License-Identifier: Apache-2.0
// The JVMs of this machine.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace lagwatch::testing {

// One `java` of each installation below /usr/lib/jvm; without one, `otherwise`, if it is not empty.
inline std::vector<std::string> Javas(const std::string& otherwise = "") {
  std::vector<std::string> javas;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator("/usr/lib/jvm", error)) {
    const std::filesystem::path java = std::filesystem::canonical(folder.path() / "bin/java", error);
    if (!error) javas.push_back(java);
  }
  std::ranges::sort(javas);
  const auto repeated = std::ranges::unique(javas);
  javas.erase(repeated.begin(), repeated.end());
  if (javas.empty() && !otherwise.empty()) javas.push_back(otherwise);
  return javas;
}

}  // namespace lagwatch::testing
