// SPDX-License-Identifier: Apache-2.0
// `lagwatch trace`: records programs, converts recordings, and shows how a program spends its time.
#pragma once

#include <CLI/App.hpp>

namespace lagwatch::tools {

// `exit_code` is set when the command has run.
void AddTraceCommand(CLI::App* app, int* exit_code);

}  // namespace lagwatch::tools
