// SPDX-License-Identifier: Apache-2.0
// The flags that `lagwatch run`, `watch` and `attach` have in common. Context: background.
#pragma once

#include <lagwatch/options.h>

#include <string>

#include "base/status.h"
#include "sdk/preload/environment/preload_config.h"

namespace CLI {
class App;
}

namespace lagwatch::tools {

struct WatchFlags {
  Options options;
  // By name; ApplyNames() puts them into the options.
  std::string dump_signal;
  std::string expensive = "path";
  std::string log;  // see HangLog::to

  // Errors: kInvalid if a name is unknown.
  base::Status ApplyNames();
  // For the watched program, which sends nothing itself.
  Options OptionsOfProgram() const;
};

// Of `lagwatch run` and `attach`: docs/probes.md, "Probes of a fleet". Empty: a collector can ask for none.
struct FleetFlags {
  std::string list_file;
  std::string list_key;

  // Errors: kInvalid for one without the other, or without an endpoint and a config key in `options`.
  base::Status Check(const Options& options) const;
  // Errors: kIo if the list cannot be read now. It is read again for each request.
  base::Status CheckList() const;
};
// `values` must outlive parsing.
void AddFleetFlags(CLI::App* command, FleetFlags* values);

// Adds a flag and a variable of the environment for each option that has one. `values` must outlive parsing.
void AddWatchFlags(CLI::App* command, WatchFlags* values);
// For the commands that see what a program sends. `config` must outlive parsing.
void AddSoftWatchdogFlag(CLI::App* command, sdk::PreloadConfig* config);

}  // namespace lagwatch::tools
