// SPDX-License-Identifier: Apache-2.0
// The versions of Node that tests run.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::testing {

// The system's, if there is one, and those that the environment lists in LAGWATCH_NODES, separated by colons.
inline std::vector<std::string> Nodes() {
  std::vector<std::string> nodes;
  if (access("/usr/bin/node", X_OK) == 0) nodes.emplace_back("/usr/bin/node");
  const char* more = std::getenv("LAGWATCH_NODES");
  std::string_view rest = more == nullptr ? "" : more;
  while (!rest.empty()) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    if (!path.empty()) nodes.emplace_back(path);
    rest.remove_prefix(path.size() == rest.size() ? rest.size() : path.size() + 1);
  }
  return nodes;
}

}  // namespace lagwatch::testing
