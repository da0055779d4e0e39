// SPDX-License-Identifier: Apache-2.0
// `lagwatch-collector backup` and `restore`. Context: background.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace lagwatch::collector {

// Adds the commands to `app`; if one is given, it runs while the command line is parsed and `exit_code` is
// set. `data` returns the data directory, once the other flags are known.
void AddBackupCommands(CLI::App* app, const std::function<std::string()>& data, int* exit_code);

}  // namespace lagwatch::collector
