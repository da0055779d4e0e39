// SPDX-License-Identifier: Apache-2.0
// Puts this library's functions into the import tables of modules that were loaded before it, where a
// preloaded library is found by the order of symbols. Code is not changed. Context: background, on a thread
// with its own descriptor table.
#pragma once

#include <link.h>

#include <cstdint>
#include <vector>

#include "base/process/loader_walk.h"

namespace lagwatch::sdk {

// Thread safety: one thread at a time. A slot only ever changes from the C library's function (or the
// loader's code that looks it up) to ours, and back, under the loader's lock.
class ImportPatches {
 public:
  ImportPatches();

  // Patches all modules, also those that were loaded since the last call. Cheap if there are none.
  void Install();
  // Restores all slots.
  void Remove();

  uint64_t slots() const { return slots_; }  // that are patched now

 private:
  struct PatchedFunction {
    const char* name;
    uint64_t ours;
    uint64_t real;
    bool is_resolved_alike;  // the loader would resolve it to `real`
  };

  void Rewrite(bool is_install);

  std::vector<PatchedFunction> functions_;
  base::LoaderCounts counts_;  // at the last look
  bool is_unfinished_ = true;  // the loader was still busy with a module
  uint64_t slots_ = 0;
};

}  // namespace lagwatch::sdk
