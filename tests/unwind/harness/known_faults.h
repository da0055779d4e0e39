// SPDX-License-Identifier: Apache-2.0
// The one table of what unwinders are known to get wrong, and why.
#pragma once

#include <cstddef>
#include <string_view>

namespace lagwatch::unwind_test {

enum class Who { kOurs, kOracle };
inline constexpr size_t kWhoCount = 2;

enum class Kind { kCaller, kMissing, kExtra, kCompleteness, kFunctionStart };

// The reason why a disagreement at `culprit` (a function's name, or MODULE+offset where there is none) is no surprise;
// null when it is one.
const char* ReasonFor(Who who, Kind kind, std::string_view case_name, std::string_view culprit);

}  // namespace lagwatch::unwind_test
