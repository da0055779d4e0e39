// SPDX-License-Identifier: Apache-2.0
// Checks the ownership of a spool directory and of the files in it. Context: background.
#pragma once

#include <optional>
#include <string>

#include "base/process/env.h"
#include "base/status.h"

namespace lagwatch::report {

// Whether reports may be put into `directory`, which exists: it is a directory and no symbolic link, belongs
// to this process's user, and no other user may write to it. Directories above it are not checked. Errors:
// kInvalid with the remedy, kIo.
base::Status CheckSpoolDirectory(base::Env* env, const std::string& directory);

// The id of the user that owns `directory`, or the target of that link; none without one.
std::optional<uint32_t> OwnerOfDirectory(base::Env* env, const std::string& directory);
// Whether a file in it is to be trusted as much as the directory is: it is a plain file of the same user.
inline bool IsOwnersFile(const base::FileFacts& facts, std::optional<uint32_t> directory_owner) {
  return facts.kind == base::FileFacts::FileKind::kFile && facts.owner_id == directory_owner;
}

}  // namespace lagwatch::report
