// SPDX-License-Identifier: Apache-2.0
// `lagwatch run -- CMD…`: runs a program as it is, watched.
#pragma once

#include <CLI/App.hpp>

namespace lagwatch::tools {

// Adds the command to `app`. Once it was parsed, `*exit_code` is set, unless the program took
// this process over.
void AddRunCommand(CLI::App* app, int* exit_code);

}  // namespace lagwatch::tools
