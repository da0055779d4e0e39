// SPDX-License-Identifier: Apache-2.0
// The causes of two versions side by side. Context: background; pure.
#pragma once

#include <cstddef>
#include <string>

#include "collector/query/json/annotated_causes.h"
#include "collector/query/json/json_text.h"

namespace lagwatch::collector {

struct ComparedVersion {
  std::string version;
  ShownPage page = {};    // its causes
  double watched_ns = 0;  // 0: not known
  bool is_cut = false;    // it has more causes than these
};

// VersionComparison of collector/API.md. At most `limit` causes: those whose rates differ by more than chance
// first, then the costliest. A change is said only where the 95 % intervals of the two rates do not overlap;
// of a version without the cause, the interval ends where three hangs would (MostNsWithoutHang). Of one that
// was cut, nothing is known of such a cause.
Json VersionComparisonJson(const ComparedVersion& baseline, const ComparedVersion& version, size_t limit);

}  // namespace lagwatch::collector
