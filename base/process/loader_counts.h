// SPDX-License-Identifier: Apache-2.0
// The modules that the loader has loaded and unloaded since the process began: while the counts stay the
// same, its modules do. Linux.
#pragma once

#include <cstdint>

struct dl_phdr_info;

namespace lagwatch::base {

struct LoaderCounts {
  uint64_t adds = 0;
  uint64_t subs = 0;

  bool operator==(const LoaderCounts&) const = default;
  // Inside of WalkLoadedModules().
  static LoaderCounts Of(const dl_phdr_info& info);
  // Context: as WalkLoadedModules().
  static LoaderCounts Now();
};

}  // namespace lagwatch::base
