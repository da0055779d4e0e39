// SPDX-License-Identifier: Apache-2.0
// The rules of `lagwatch enable --watch` in the text of lagwatchd's rules, between comments by which they are
// found again; everything else in the text stays as it is. Context: background; pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::tools {

// The rule for the service `unit`. `run_options` are flags of `lagwatch run`, such as --threshold-ms 500;
// they become the rule's options. Errors: kInvalid if one is no flag.
base::Result<std::string> MakeWatchRule(std::string_view unit, const std::vector<std::string>& run_options);

// The text with the rule before all others, because the first one that fits decides.
std::string WithWatchRule(std::string_view text, std::string_view rule);

// The part of the text that is the rule for `unit`; empty without one.
std::string_view FindWatchRule(std::string_view text, std::string_view unit);

}  // namespace lagwatch::tools
