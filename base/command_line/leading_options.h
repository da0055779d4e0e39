// SPDX-License-Identifier: Apache-2.0
// Options that stand before the command they belong to. Context: background; pure.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lagwatch::base {

// The arguments with options that stand before a command of `app` behind it: "--json reports" is "reports
// --json", at each level of commands. An option takes the next word as its value if any command has it as an
// option with one. --help stays.
std::vector<std::string> WithCommandFirst(const CLI::App& app, std::vector<std::string> arguments);

}  // namespace lagwatch::base
