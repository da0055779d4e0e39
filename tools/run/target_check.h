// SPDX-License-Identifier: Apache-2.0
// Checks whether a library can be preloaded into a program: the dynamic loader does it, and only for programs
// that are dynamically linked, of this machine's kind, and not privileged. Context: background.
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// The file that execvp would run for `command`. Errors: kNotFound.
base::Result<std::string> FindProgram(const std::string& command);

// Ok when `library` can be preloaded into `path`. For a script, its interpreter is checked. Errors: kInvalid,
// saying why not and what to do instead.
base::Status CheckCanPreload(const std::string& path, const std::filesystem::path& library);

}  // namespace lagwatch::tools
