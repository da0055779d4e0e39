// SPDX-License-Identifier: Apache-2.0
// Limits a directory of files that can be downloaded again: one directory for each build id, as libdebuginfod
// keeps them. Context: background.
#pragma once

#include <cstdint>
#include <string>

namespace lagwatch::collector {

struct CacheLimits {
  uint64_t total_bytes = uint64_t{10} << 30;
  uint64_t entries = 20'000;  // directories: also of files that no server has
};

// If the directory is over the limits, removes the least recently used entries until a tenth is free; returns
// the number of removed entries. Entries that cannot be removed stay.
uint64_t TrimCacheDirectory(const std::string& directory, const CacheLimits& limits);

}  // namespace lagwatch::collector
