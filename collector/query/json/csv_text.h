// SPDX-License-Identifier: Apache-2.0
// Lists of the API as CSV (RFC 4180), for spreadsheets. Context: background; pure.
#pragma once

#include <string>

#include "collector/query/json/json_text.h"

namespace lagwatch::collector {

// An array of objects, a line each. The columns are the keys of all of them, in the order of their first
// appearance; those of an object within are "outer.inner". Arrays of texts are joined by " < " as stacks are
// shown, other arrays are left out. A text that a spreadsheet would take for a formula gets a "'" in front.
std::string CsvText(const Json& array);

}  // namespace lagwatch::collector
