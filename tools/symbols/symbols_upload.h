// SPDX-License-Identifier: Apache-2.0
// Sends many symbol files at once. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/read/endpoint.h"
#include "tools/symbols/symbol_scan.h"

namespace lagwatch::tools {

// Progress so far; a file that the collector had already counts as done.
struct UploadTotals {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t sent_files = 0;
  uint64_t sent_bytes = 0;
  std::vector<std::string> problems;  // one of each file that failed
  std::vector<std::string> notes;     // of files that the collector reads less of than this machine
};

// By four connections. `on_progress` is called some times a second. When the collector cannot be reached, or
// does not know the key, the rest is not tried.
UploadTotals UploadSymbols(const Endpoint& endpoint, const std::vector<LocalSymbolFile>& files,
                           const std::function<void(const UploadTotals&)>& on_progress);

}  // namespace lagwatch::tools
