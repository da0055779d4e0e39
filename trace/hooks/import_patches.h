// SPDX-License-Identifier: Apache-2.0
// Puts other functions into the import tables of loaded modules, in place of given ones, and restores them.
// Code is not changed. Context: background, on a thread with its own descriptor table.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/process/loader_walk.h"

namespace lagwatch::trace {

// The tables of the C library, the loader, sanitizers and this library itself are left alone.
//
// Thread safety: one thread at a time. A slot only ever changes from the real function (or the loader's code
// that looks it up) to ours, and back, under the loader's lock.
class ImportPatches {
 public:
  // From the next Install() on, slots of this name that lead to `real`, or would at their first call, lead to
  // `ours`. A name may have several real functions.
  void Add(std::string name, uint64_t ours, uint64_t real);

  // Patches all modules, also those that were loaded since the last call. Cheap if there is nothing new.
  void Install();
  // Restores all slots.
  void Remove();
  // Restores the slots that lead to `ours`, and forgets its functions.
  void Remove(uint64_t ours);

  // That are patched now: all, and those that lead to `ours`.
  uint64_t slots() const;
  uint64_t SlotsOf(uint64_t ours) const;

 private:
  struct PatchedFunction {
    uint64_t ours;
    uint64_t real;
    uint64_t slots = 0;
  };
  using VersionedName = std::pair<std::string, std::string>;

  // `ours`: of that alone; 0: of all.
  void Rewrite(bool is_install, uint64_t ours);
  bool ResolveNew();

  std::multimap<std::string, PatchedFunction, std::less<>> functions_;
  // The functions to which the loader would resolve names, with their versions; 0: not looked up yet.
  std::map<VersionedName, uint64_t> resolved_;
  base::LoaderCounts counts_;  // at the last look
  bool is_unfinished_ = true;  // the loader was still busy with a module, or a function is new
};

}  // namespace lagwatch::trace
