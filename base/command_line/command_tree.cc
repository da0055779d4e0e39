// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/command_tree.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace lagwatch::base {
namespace {

bool IsVisible(const CLI::Option& option) { return !option.get_group().empty(); }

// The part of the type's name between the first `begin` and the next `end`, as CLI11 writes its validators:
// "UINT:INT in [16 - 3600000]", "TEXT:{path,leaf}".
std::string PartOf(const CLI::Option& option, std::string_view begin, char end) {
  const std::string type = option.get_type_name();
  const size_t first = type.find(begin);
  if (first == std::string::npos) return "";
  const size_t from = first + begin.size();
  return type.substr(from, type.find(end, from) - from);
}

}  // namespace

std::vector<const CLI::App*> VisibleCommands(const CLI::App& app) {
  return app.get_subcommands(
      [](const CLI::App* each) { return !each->get_name().empty() && !each->get_group().empty(); });
}

const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
  return name.empty() || found.empty() ? nullptr : found.front();
}

std::vector<const CLI::App*> OptionGroups(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* each) { return each->get_name().empty(); });
}

std::vector<const CLI::Option*> VisibleOptions(const CLI::App& app) {
  return app.get_options([](const CLI::Option* each) { return IsVisible(*each) && each->nonpositional(); });
}

std::vector<const CLI::Option*> AllVisibleOptions(const CLI::App& app) {
  std::vector<const CLI::Option*> options = VisibleOptions(app);
  for (const CLI::App* group : OptionGroups(app)) {
    const auto more = VisibleOptions(*group);
    options.insert(options.end(), more.begin(), more.end());
  }
  return options;
}

std::vector<const CLI::Option*> Positionals(const CLI::App& app) {
  return app.get_options([](const CLI::Option* each) { return IsVisible(*each) && each->get_positional(); });
}

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool TakesSeveral(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

std::vector<std::string> ValuesOf(const CLI::Option& option) {
  std::vector<std::string> values = SplitAtCommas(PartOf(option, "{", '}'));
  for (std::string& value : values) value.resize(std::min(value.find("->"), value.size()));
  return values;
}

std::string TypeOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  for (const std::string_view number : {"UINT", "INT", "FLOAT"})
    if (type.starts_with(number)) return "NUMBER";
  return "TEXT";
}

std::string RangeOf(const CLI::Option& option) {
  std::string range = PartOf(option, " in [", ']');
  const size_t dash = range.find(" - ");
  if (dash != std::string::npos) range.replace(dash, 3, " to ");
  return range;
}

}  // namespace lagwatch::base
