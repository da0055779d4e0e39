// SPDX-License-Identifier: Apache-2.0
// `lagwatch-collector keys`: the keys in DATA/keys.json, whether a collector serves them or
// not. Context: background.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace lagwatch::collector {

// Adds the command to `app`; when it is given, it runs while the command line is parsed and `exit_code` is
// set. `path` and `audit_path` say where the keys and the log of changes are, once the other flags are known.
void AddKeysCommand(CLI::App* app, const std::function<std::string()>& path,
                    const std::function<std::string()>& audit_path, int* exit_code);

}  // namespace lagwatch::collector
