// SPDX-License-Identifier: Apache-2.0
// Who may use a spool directory. Context: background.
#pragma once

#include <string>

#include "base/env.h"
#include "base/status.h"

namespace lagwatch::report {

// Whether reports may be put into `directory`, which exists: it is a directory and no symbolic link, belongs
// to this process's user, and nobody else may write to it. Directories above it are not looked at.
// Errors: kInvalid with what to do about it, kIo.
base::Status CheckSpoolDirectory(base::Env* env, const std::string& directory);

}  // namespace lagwatch::report
