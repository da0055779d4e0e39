// SPDX-License-Identifier: Apache-2.0
// The flags of the options that have one (policies/options/options.def). Context: background.
#pragma once

#include <lagwatch/options.h>

#include <string>

namespace CLI {
class App;
}

namespace lagwatch::tools {

// Values that are given by name.
struct OptionWords {
  std::string dump_signal;
  std::string expensive = "path";
};

// Adds them to `command`; both must outlive the parsing.
void AddOptionFlags(CLI::App* command, Options* options, OptionWords* words);

}  // namespace lagwatch::tools
