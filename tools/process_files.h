// SPDX-License-Identifier: Apache-2.0
// Facts of other processes, from their files in /proc. Context: background.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// The file's first line without its end; empty if it cannot be read.
std::string LineIn(const std::filesystem::path& file);
// The process's folder in /proc.
std::filesystem::path ProcessFolder(pid_t pid);
// The name that the kernel has for the process, of 15 bytes at most; empty if there is no such process.
std::string CommandOf(pid_t pid);
// Whether this user may look into the process. Errors: kNotFound; kInvalid, saying what would help.
base::Status CheckMayLookInto(pid_t pid);
// Whether one of lagwatch's watchdogs runs in the process. False also if this user cannot know.
bool HasWatchdog(pid_t pid);

}  // namespace lagwatch::tools
