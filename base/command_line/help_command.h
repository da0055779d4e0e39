// SPDX-License-Identifier: Apache-2.0
// The command `help` of a program: the help of its commands, and what packages and shells make of these.
// Context: background.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/command_line/completion.h"
#include "base/status.h"

namespace CLI {
class App;
}

namespace lagwatch::base {

struct HelpSources {
  ValueSource values;
  // Writes the pages of the manual below an existing directory: man1/…, man8/…. Errors: kIo.
  std::function<Status(const std::string& directory)> write_manual;
  // Texts that `help TOPIC` prints, by topic.
  std::map<std::string, std::string> topics = {};
};

// To be called last: the command knows those that `app` has when it runs. `app` and `exit_code` must outlive
// the parsing.
void AddHelpCommand(CLI::App* app, const HelpSources& sources, int* exit_code);

// Errors: kIo.
Status WriteTextFile(const std::string& path, const std::string& text);

}  // namespace lagwatch::base
