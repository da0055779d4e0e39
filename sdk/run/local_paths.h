// SPDX-License-Identifier: Apache-2.0
// Paths in reports as they are on this machine: reports say "~/bin/app" of a file in a home, and not in
// whose. Context: background. Not thread-safe.
#pragma once

#include <map>
#include <string>

namespace lagwatch::sdk {

class LocalPaths {
 public:
  // The first file of that name in a home, this user's first; `path` itself if there is none, or it is not in
  // a home. Whether it is the right file, its build id says. Valid as long as this.
  const std::string& Of(const std::string& path);

 private:
  std::map<std::string, std::string> known_;
};

}  // namespace lagwatch::sdk
