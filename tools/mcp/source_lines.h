// SPDX-License-Identifier: Apache-2.0
// Lines of source files that reports name. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::tools {

// Reports come from other machines, and may name any file: only regular files in these directories are read,
// no hidden ones, and none that a link leads out of them.
class SourceLines {
 public:
  explicit SourceLines(std::vector<std::string> directories);

  // The line with those around it, each with its number, and the line itself marked by ">"; empty if there is
  // no such file or line. `file` is the path on the machine that built the program: the longest of its ends
  // that leads to a file in one of the directories is taken.
  std::string Around(const std::string& file, int64_t line) const;

 private:
  std::string Find(const std::string& file) const;

  std::vector<std::string> directories_;  // without links
};

}  // namespace lagwatch::tools
