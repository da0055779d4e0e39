// SPDX-License-Identifier: Apache-2.0
// The mappings of another process at one moment. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::tools {

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  bool is_guard = false;  // no access
  bool is_code = false;
  std::string path;  // of its file; or "[stack]"
};

// By one read of its file in /proc, which takes long where there are many. In order; empty if the process has
// ended.
std::vector<Mapping> ReadMappings(pid_t pid);

}  // namespace lagwatch::tools
