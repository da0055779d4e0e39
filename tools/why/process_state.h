// SPDX-License-Identifier: Apache-2.0
// States of a whole process in which none of its threads can go on, so that its code explains nothing.
// Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace lagwatch::tools {

struct ProcessState {
  std::string sentence;  // goes on after the process's name: "is dead: …"
  std::string advice;    // the command that helps; empty where none does
};

// None of a process that runs as usual, or does not exist.
std::optional<ProcessState> FindProcessState(pid_t pid);

}  // namespace lagwatch::tools
