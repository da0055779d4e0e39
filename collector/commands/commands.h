// SPDX-License-Identifier: Apache-2.0
// The commands of lagwatch-collector beside serving. Each function adds some to `app`; when one is given, it
// runs while the command line is parsed, and sets `exit_code`. Functions that are given return paths, once
// the other flags are known. Context: background.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace CLI {
class App;
}

namespace lagwatch::collector {

// `backup` and `restore` of the data directory.
void AddBackupCommands(CLI::App* app, const std::function<std::string()>& data, int* exit_code);

// `keys`: the keys in DATA/keys.json, whether a collector serves them or not. `audit_path` is the log of
// changes.
void AddKeysCommand(CLI::App* app, const std::function<std::string()>& path,
                    const std::function<std::string()>& audit_path, int* exit_code);

// `retention`: confirms the clock, in the file `path`, to a collector that holds retention back.
void AddRetentionCommand(CLI::App* app, const std::function<std::string()>& path, int* exit_code);

// Prints the error; the exit code.
int Fail(const base::Status& status);

}  // namespace lagwatch::collector
