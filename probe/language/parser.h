// SPDX-License-Identifier: Apache-2.0
// Parses a script; docs/probes.md has the grammar. Context: background.
#pragma once

#include <string_view>

#include "base/status.h"
#include "probe/language/tree.h"

namespace lagwatch::probe {

// The tree, or kInvalid with "LINE:COLUMN: MESSAGE".
Result<ScriptTree> ParseScript(std::string_view script);

}  // namespace lagwatch::probe
