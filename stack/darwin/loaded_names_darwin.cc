// SPDX-License-Identifier: Apache-2.0
// Images on Apple's systems are not looked for elsewhere.
#include "stack/code/loaded_names.h"

namespace lagwatch::stack {

LoadedNames::LoadedNames() = default;

bool LoadedNames::IsElsewhere(const Module& /*module*/) { return false; }

std::span<const LoadedNames::Place> LoadedNames::Find(const Module& /*module*/, MemoryRegion /*deleted_file*/,
                                                      std::span<const uint64_t> /*offsets*/,
                                                      bool* /*may_open_file*/) {
  return {};
}

}  // namespace lagwatch::stack
