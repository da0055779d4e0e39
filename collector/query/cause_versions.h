// SPDX-License-Identifier: Apache-2.0
// A cause version by version, to see whether it was fixed. Context: background; pure.
#pragma once

#include <vector>

#include "collector/query/json/json_text.h"
#include "collector/store/version_sums.h"

namespace lagwatch::collector {

// Of those that have it the kMaxVersions seen last; and as many that were watched, do not have it and are
// newer than the oldest of the same program that does. In the order in which they were first seen.
inline constexpr size_t kMaxVersions = 50;
Json CauseVersionsJson(std::vector<CauseVersion> versions, const std::vector<WatchedVersion>& watched);

}  // namespace lagwatch::collector
