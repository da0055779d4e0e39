// SPDX-License-Identifier: Apache-2.0
// Tables of programs' usage for people. report_lists.h describes the arguments. Context: background; pure.
#pragma once

#include <cstddef>
#include <string>

#include "tools/read/report_source.h"

namespace lagwatch::tools {

// A line for each version of a program, then slow tags and suppressed hangs for each, if any.
std::string UsageText(const Json& usage, size_t max_width);

}  // namespace lagwatch::tools
