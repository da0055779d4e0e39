// SPDX-License-Identifier: Apache-2.0
// The readers of the interpreters that the bench runs.
#pragma once

#include <sys/types.h>

#include <memory>

#include "bench/interpreters/other_process.h"

namespace lagwatch::interpreters_bench {

// Null until the process has loaded its interpreter.
std::unique_ptr<StackReader> AttachToPython(pid_t pid);
std::unique_ptr<StackReader> AttachToLua(pid_t pid);
std::unique_ptr<StackReader> AttachToPerl(pid_t pid);
std::unique_ptr<StackReader> AttachToPhp(pid_t pid);
std::unique_ptr<StackReader> AttachToRuby(pid_t pid);
std::unique_ptr<StackReader> AttachToV8(pid_t pid);
std::unique_ptr<StackReader> AttachToJava(pid_t pid);

}  // namespace lagwatch::interpreters_bench
