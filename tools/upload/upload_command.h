// SPDX-License-Identifier: Apache-2.0
// `lagwatch upload`: sends the reports that wait in a spool directory.
#pragma once

#include <CLI/App.hpp>

namespace lagwatch::tools {

// Adds the command to `app`. Once it was parsed and run, `*exit_code` is set.
void AddUploadCommand(CLI::App* app, int* exit_code);

}  // namespace lagwatch::tools
