// SPDX-License-Identifier: Apache-2.0
// The checks of `lagwatch doctor`: each tries what a command would do, and leaves nothing behind. Context:
// background. Linux.
#pragma once

#include <sys/types.h>

#include <string>

#include "tools/doctor/check.h"
#include "tools/read/endpoint.h"

namespace lagwatch::tools {

// Rights, kernel, C library and spool. Loads and removes the kernel programs of `lagwatch watch --bpf` where
// this user may.
CheckGroup CheckMachine(const std::string& spool_directory);

// The endpoint of reports. Its `url` is as in Options::endpoint; empty: nothing is asked. Its token is that
// for reading; `key` is that for sending. Both may be empty.
CheckGroup CheckCollector(const Endpoint& endpoint, const std::string& key);

// A process that exists. Only looks at it, as `lagwatch watch` does.
CheckGroup CheckProcess(pid_t pid);
// A program that does not run yet, by its file (FindProgram()).
CheckGroup CheckProgram(const std::string& path);

}  // namespace lagwatch::tools
