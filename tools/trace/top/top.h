// SPDX-License-Identifier: Apache-2.0
// `lagwatch trace top`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/trace/data/recording.h"

namespace lagwatch::tools {

struct TopOptions {
  RecordOptions record;
  double refresh_s = 1;
  uint64_t count = 0;         // refreshes; 0: until the program ends
  std::string output;         // for what the program prints; empty: nowhere
  std::string sort = "self";  // or "total"
  bool has_waits = false;
  bool is_since_begin = false;
  bool is_plain = false;  // also on a terminal
  size_t lines = 20;      // of functions, where it is plain
};

// Runs until the program ends or the user quits. Returns the program's exit code if it ended by itself, else
// 0; 2, after an error message, if it could not be recorded.
int RunTop(const TopOptions& options);

}  // namespace lagwatch::tools
