// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lagwatch::bench {

// Members of a JSON object: of the functions that have symbols, the share that can be probed at their entry
// and return, in percent, by the tiers and the reasons. For programs, in a process of each.
std::string MeasureProbeable(const std::string& own_path);

}  // namespace lagwatch::bench
