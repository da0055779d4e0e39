// SPDX-License-Identifier: Apache-2.0
// Bounds a directory of files that can be had again: one directory for each build id, as libdebuginfod keeps
// them. Context: background.
#pragma once

#include <cstdint>
#include <string>

namespace lagwatch::collector {

struct CacheLimits {
  uint64_t total_bytes = uint64_t{10} << 30;
  uint64_t entries = 20'000;  // directories: also of files that no server has
};

// Removes what was not used for longest until a tenth is free, if there is more than the limits allow;
// returns how many entries went. What cannot be removed stays.
uint64_t TrimCacheDirectory(const std::string& directory, const CacheLimits& limits);

}  // namespace lagwatch::collector
