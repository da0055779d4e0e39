// SPDX-License-Identifier: Apache-2.0
// Serializes dl_iterate_phdr(3) and dlopen(3) with fork(): a child forked meanwhile would inherit the
// loader's lock, held for ever, and its next dlopen, or exception, would wait for it.
#pragma once

#include <cstddef>
#include <cstdint>

struct dl_phdr_info;  // of link.h, which macOS lacks

namespace lagwatch::base {

// Calls `visit` for the loaded modules, under the loader's lock, until it does not return 0. Forks wait until
// it is over, for a second at most; it waits for forks, for ten. An exception of `visit` ends the walk and is
// thrown here, after the loader's lock is released. Context: background; not from `visit`, nor where a fork
// may be under way.
void WalkLoadedModules(int (*visit)(dl_phdr_info* info, size_t size_bytes, void* context), void* context);

// Runs `run(context)`, which uses the loader and throws nothing, under the same rules. Context: as above.
void RunBetweenForks(void (*run)(void* context), void* context);

// The modules that the loader has loaded and unloaded since the process began: while the counts stay the
// same, its modules do.
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
