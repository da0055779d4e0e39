// SPDX-License-Identifier: Apache-2.0
// Facts of other processes, from their files in /proc. Context: background.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/status.h"

namespace lagwatch::tools {

// The file's first line without its end; empty if it cannot be read.
std::string LineIn(const std::filesystem::path& file);
// The process's folder in /proc.
std::filesystem::path ProcessFolder(pid_t pid);
// The name that the kernel has for the process, of 15 bytes at most; empty if there is no such process.
std::string CommandOf(pid_t pid);
// A field of /proc/PID/status; empty if there is none.
std::string StatusField(pid_t pid, std::string_view name);
// The value of an environment variable when the process's program was started, whatever that has changed
// since; empty without one, and if this user may not know.
std::string VariableOf(pid_t pid, const std::string& name);
// The id that the process has for itself, in a container perhaps.
pid_t OwnPidOf(pid_t pid);
// Opens what the process finds at `path`, by its own root directory and symbolic links; none if there is
// nothing, or nothing that may be opened. `flags` are those of open(2).
base::OwnedFd OpenInRootOf(pid_t pid, const std::string& path, int flags);
// Whether this user may look into the process. Errors: kNotFound; kInvalid, saying what would help.
base::Status CheckMayLookInto(pid_t pid);
// Whether its program has words of the size that lagwatch knows. Errors: kInvalid.
base::Status CheckWordSize(pid_t pid);
// Whether one of lagwatch's watchdogs runs in the process. False also if this user cannot know.
bool HasWatchdog(pid_t pid);

}  // namespace lagwatch::tools
