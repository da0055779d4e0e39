// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "tools/inject/mappings.h"
#include "tools/process_files.h"

namespace lagwatch::tools {

// A line is "BEGIN-END ACCESS OFFSET DEVICE INODE PATH". Others are left out.
std::vector<Mapping> ReadMappings(pid_t pid) {
  constexpr int kHex = 16;
  constexpr std::ptrdiff_t kAccessLetters = 4;
  std::vector<Mapping> mappings;
  std::ifstream maps(ProcessFolder(pid) / "maps");
  for (std::string line; std::getline(maps, line);) {
    const char* const end = line.c_str() + line.size();
    char* at = nullptr;
    Mapping mapping;
    mapping.begin = std::strtoull(line.c_str(), &at, kHex);
    if (*at != '-') continue;
    mapping.end = std::strtoull(at + 1, &at, kHex);
    if (end - at <= kAccessLetters + 1) continue;
    const char* const access = at + 1;
    mapping.is_guard = access[0] == '-';
    mapping.is_code = access[2] == 'x';
    mapping.offset = std::strtoull(access + kAccessLetters, &at, kHex);
    const size_t path = line.find_first_of("/[", static_cast<size_t>(at - line.c_str()));
    if (path != std::string::npos) mapping.path = line.substr(path);
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

}  // namespace lagwatch::tools
