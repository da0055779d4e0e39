// SPDX-License-Identifier: Apache-2.0
// Defaults, checks and conversions of the options, from the table in policies/options/options.def.
#pragma once

#include <lagwatch/options.h>

namespace lagwatch::sdk {

void SetDefaults(lw_options* options);
// `given` may be null, or shorter, from a caller built against an older header: missing members have their
// defaults. The result is in range.
Options ToOptions(const lw_options* given);
// Returns the options with every number brought into its range.
Options Clamped(Options options);

}  // namespace lagwatch::sdk
