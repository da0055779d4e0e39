// SPDX-License-Identifier: Apache-2.0
// Paths in reports as they are on this machine: reports say "~/bin/app" of a file in a home, and not in
// whose; and those of a program in a container have its root. Context: background. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace lagwatch::sdk {

class LocalPaths {
 public:
  // `root`: see RootOfSpool(); empty: this process's.
  explicit LocalPaths(std::string root = {}) : root_(std::move(root)) {}

  // The file below the root; of one in a home the first, this user's first. `path` itself if there is none.
  // Whether it is the right file, its build id says. Valid as long as this.
  const std::string& Of(const std::string& path);

 private:
  const std::string root_;
  std::map<std::string, std::string> known_;
};

// The root directory of the process that keeps its reports in `spool_directory`: that directory may be given
// as another process sees it, "/proc/4711/root/tmp/spool". Empty if it is not.
std::string RootOfSpool(const std::string& spool_directory);

}  // namespace lagwatch::sdk
