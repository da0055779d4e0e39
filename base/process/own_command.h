// SPDX-License-Identifier: Apache-2.0
// Starts lagwatch's own programs, also where the loader and the libraries that they need came along: in the
// folder `libraries` beside the program (docs/design/start.md). Context: background.
#pragma once

#include <string>
#include <vector>

namespace lagwatch::base {

inline constexpr char kSelf[] = "/proc/self/exe";

// The path of this program's file, which is not /proc/self/exe where a loader of its own has started it.
// Empty if /proc cannot be read.
std::string OwnProgram();

// A command line for execv(3): the file, and the arguments from argv[0] on, to which the program's own are
// added.
struct OwnCommand {
  std::string file;
  std::vector<std::string> arguments;
};

// The command that starts `program`, which may be kSelf, with that argv[0].
OwnCommand CommandOf(const std::string& program, const std::string& name);

}  // namespace lagwatch::base
