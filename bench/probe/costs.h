// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lagwatch::bench {

// Members of a JSON object: nanoseconds for one call, above the bare call.
std::string MeasureProbeCosts();

}  // namespace lagwatch::bench
