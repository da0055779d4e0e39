// SPDX-License-Identifier: Apache-2.0
// `lagwatch dump PID`: requests a report of all threads of a watched program.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace lagwatch::tools {

// Adds the command to `app`. Once it was parsed and run, `*exit_code` is set.
void AddDumpCommand(CLI::App* app, int* exit_code);

// Returns the number of a signal given as "USR2", "SIGUSR2" or "12"; 0 if it is invalid.
int SignalNumber(const std::string& text);

}  // namespace lagwatch::tools
