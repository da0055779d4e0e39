// SPDX-License-Identifier: Apache-2.0
// The output of the symbol commands. Context: background; pure.
#pragma once

#include <cstdint>
#include <string>

#include "tools/read/endpoint.h"

namespace lagwatch::tools {

// "312 B", "4.1 MB".
std::string ShortSize(uint64_t size_bytes);

// "[#####.....]  52 %  4.1 MB of 8.0 MB  1.2 MB/s  3 of 7 files".
struct UploadState {
  uint64_t bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t files = 0;
  uint64_t total_files = 0;
  double seconds = 0;
};
std::string ProgressLine(const UploadState& state);

// The answer to GET /v1/symbols, a line for each file. `max_width` as in Table.
std::string SymbolTable(const Json& files, size_t max_width);

}  // namespace lagwatch::tools
