// SPDX-License-Identifier: Apache-2.0
// `lagwatch-collector retention`: confirms the clock to a collector that holds retention
// back. Context: background.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace lagwatch::collector {

// As AddKeysCommand; `path` says where the confirmation goes, once the other flags are known.
void AddRetentionCommand(CLI::App* app, const std::function<std::string()>& path, int* exit_code);

}  // namespace lagwatch::collector
