// SPDX-License-Identifier: Apache-2.0
// Checks before a program is started: whether a library can be preloaded into it, which the dynamic loader
// does only for programs that are dynamically linked, of this machine's kind, and not privileged; and whether
// its reports can be kept. Context: background.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

namespace lagwatch::tools {

// The file that execvp would run for `command`. Errors: kNotFound.
base::Result<std::string> FindProgram(const std::string& command);

// Ok when `library` can be preloaded into `path`. For a script, its interpreter is checked. Errors: kInvalid,
// saying why not and what to do instead.
base::Status CheckCanPreload(const std::string& path, const std::filesystem::path& library);

// Ok when a program with this `loader` can load `library`: the loader ends a program whose GNU C library is
// older than the one that the library needs. Errors: kInvalid with what to do about it.
base::Status CheckGlibc(const std::filesystem::path& loader, const std::filesystem::path& library);

// The version of the GNU C library that programs with this `loader` get: "2.36"; empty if it is not known.
std::string GlibcOf(const std::filesystem::path& loader);

// Bytes that the library needs of each thread's static block (PT_TLS); 0 if it has none or cannot be read.
uint64_t ThreadLocalBytesOf(const std::filesystem::path& library);

// Ok when reports could be kept in `spool_directory` now: it is one that the library accepts and
// writes to, or it could be created. Leaves nothing behind. Errors: kInvalid or kIo, saying why
// not.
base::Status CheckCanKeepReports(const std::string& spool_directory);

// Ok when `lagwatch run` takes these options. Errors: kInvalid, saying which it does not take.
base::Status CheckRunOptions(std::vector<std::string> options);

}  // namespace lagwatch::tools
