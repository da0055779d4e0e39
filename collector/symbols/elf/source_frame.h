// SPDX-License-Identifier: Apache-2.0
// The source location of a place in a module's code. Context: any.
#pragma once

#include <cstdint>
#include <string>

namespace lagwatch::collector {

struct SourceFrame {
  std::string function = {};  // as linkers know it (_ZN… in C++), else with its namespaces; empty: not known
  std::string file = {};      // with its directory, as the compiler had it; empty: not known
  uint32_t line = 0;          // 0: not known
  bool is_inlined = false;

  bool operator==(const SourceFrame&) const = default;
};

}  // namespace lagwatch::collector
