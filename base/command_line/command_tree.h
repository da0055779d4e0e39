// SPDX-License-Identifier: Apache-2.0
// The commands and options of a program as CLI11 has them, for what is derived from them: pages of the manual
// and completions. Context: background; pure.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lagwatch::base {

// Those that the help shows.
std::vector<const CLI::App*> VisibleCommands(const CLI::App& app);
// The command of that name, a hidden one, too; null without one.
const CLI::App* FindCommand(const CLI::App& app, const std::string& name);
// Groups of options, each with a description.
std::vector<const CLI::App*> OptionGroups(const CLI::App& app);
// With a name that begins with a dash, those of groups not among them.
std::vector<const CLI::Option*> VisibleOptions(const CLI::App& app);
// The same with those of groups.
std::vector<const CLI::Option*> AllVisibleOptions(const CLI::App& app);
// Arguments by place.
std::vector<const CLI::Option*> Positionals(const CLI::App& app);

// "-o", "--output".
std::vector<std::string> NamesOf(const CLI::Option& option);
bool TakesValue(const CLI::Option& option);
bool TakesSeveral(const CLI::Option& option);
// The values that it has to be one of; empty if it may be any.
std::vector<std::string> ValuesOf(const CLI::Option& option);
// "NUMBER", "TEXT".
std::string TypeOf(const CLI::Option& option);
// "16 to 3600000"; empty without one.
std::string RangeOf(const CLI::Option& option);

}  // namespace lagwatch::base
