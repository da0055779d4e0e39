// SPDX-License-Identifier: Apache-2.0
// The commands of lagwatch-collector beside serving. Each function adds some to `app`; when one is given, it
// runs while the command line is parsed, and sets `exit_code`. Functions that are given return paths, once
// the other flags are known. Context: background.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "collector/cluster/clusterer.h"

namespace CLI {
class App;
}

namespace lagwatch::collector {

// `backup` and `restore` of the data directory.
void AddBackupCommands(CLI::App* app, const std::function<std::string()>& data, int* exit_code);

// `repair`: salvages damaged databases of the data directory.
void AddRepairCommand(CLI::App* app, const std::function<std::string()>& data,
                      const std::function<base::Result<Clusterer>()>& clusterer, int* exit_code);

// `keys`: the keys in DATA/keys.json, whether a collector serves them or not. `audit_path` is the log of
// changes.
void AddKeysCommand(CLI::App* app, const std::function<std::string()>& path,
                    const std::function<std::string()>& audit_path, int* exit_code);

// `retention`: confirms the clock, in the file `path`, to a collector that holds retention back.
void AddRetentionCommand(CLI::App* app, const std::function<std::string()>& path, int* exit_code);

// `help`: of a command, as a page of the manual, and completions. To be called after the others.
void AddHelpCommand(CLI::App* app, int* exit_code);

// Prints the error; the exit code.
int Fail(const base::Status& status);

struct BackupOptions {
  bool has_symbols = true;  // uploaded symbol files, too
};

// Makes the directory `to` of the data directory `from`, whether a collector serves it or not: the reports of
// one moment, keys, secrets, the config. Whole, or not there. Errors: kInvalid when `to` is there already or
// `from` is no data directory; kIo. Reports in ClickHouse are not its matter.
base::Status BackUp(const std::string& from, const std::string& to, const BackupOptions& options);

// Errors: kInternal for a database with damaged pages; kInvalid for one with values that it should not have;
// kNotFound for one that is not a collector's; kIo when it cannot be read now.
base::Status CheckDatabase(const std::string& path);

// Makes the data directory `to` of a backup, which is checked first. Errors: kInvalid if the backup is
// invalid or damaged, or if `to` is a data directory already; kIo.
base::Status Restore(const std::string& backup, const std::string& to);

}  // namespace lagwatch::collector
