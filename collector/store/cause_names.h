// SPDX-License-Identifier: Apache-2.0
// Names of a cause's programs and versions, as many as are of use to a person. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lagwatch::collector {

inline constexpr size_t kMostNamesOfACause = 50;  // of programs; and of versions

struct CauseNames {
  std::vector<std::string> names;  // sorted
  int64_t more = 0;                // others
};

// Hang time by name.
using NameCosts = std::map<std::string, double>;

// Those of the most hang time. Of versions the newest is among them: whether a cause came back depends on it.
CauseNames CostliestNames(const NameCosts& costs);
CauseNames CostliestVersions(const NameCosts& costs);

}  // namespace lagwatch::collector
