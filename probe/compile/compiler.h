// SPDX-License-Identifier: Apache-2.0
// Compiles a script to a program. The result is for the verifier (probe/verify/verifier.h), which trusts
// nothing of it. Context: background.
#pragma once

#include <string_view>

#include "base/status.h"
#include "probe/program.h"
#include "probe/types/type.h"

namespace lagwatch::probe {

// The program, or kInvalid with "LINE:COLUMN: MESSAGE". `types` has what the script does not declare; it may
// be null.
Result<Program> CompileScript(std::string_view script, const TypeSource* types);

}  // namespace lagwatch::probe
