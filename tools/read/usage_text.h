// SPDX-License-Identifier: Apache-2.0
// Tables of programs' usage for people. report_lists.h describes the arguments. Context: background; pure.
#pragma once

#include <cstddef>
#include <string>

#include "tools/read/report_source.h"

namespace lagwatch::tools {

// A line for each version of a program, then for each what was slow and what was suppressed, if anything.
std::string UsageText(const Json& usage, size_t max_width);

}  // namespace lagwatch::tools
