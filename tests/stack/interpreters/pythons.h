// SPDX-License-Identifier: Apache-2.0
// The Pythons that tests run.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::testing {

// Debian's, and those that the environment lists in LAGWATCH_PYTHONS, separated by colons.
inline std::vector<std::string> Pythons() {
  std::vector<std::string> pythons = {"/usr/bin/python3"};
  const char* more = std::getenv("LAGWATCH_PYTHONS");
  std::string_view rest = more == nullptr ? "" : more;
  while (!rest.empty()) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    if (!path.empty()) pythons.emplace_back(path);
    rest.remove_prefix(path.size() == rest.size() ? rest.size() : path.size() + 1);
  }
  return pythons;
}

}  // namespace lagwatch::testing
