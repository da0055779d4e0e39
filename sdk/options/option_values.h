// SPDX-License-Identifier: Apache-2.0
// Defaults, checks and conversions of the options, from the table in policies/options/options.def.
#pragma once

#include <lagwatch/options.h>

#include <string_view>

namespace lagwatch::sdk {

void SetDefaults(lw_options* options);
// Sets the option of this name; see lw_options_set(). A member that `options` is too short for does not
// exist.
bool SetOption(lw_options* options, std::string_view name, const char* value);
// `given` may be null, or shorter, from a caller built against an older header: missing members have their
// defaults. The result is in range.
Options ToOptions(const lw_options* given);
// Returns the options with every number brought into its range.
Options Clamped(Options options);

}  // namespace lagwatch::sdk
