// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/leading_options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstddef>

#include "base/command_line/command_tree.h"

namespace lagwatch::base {
namespace {

// Whether `name` is an option of some command below `app` that takes a value.
bool TakesValueBelow(const CLI::App& app, const std::string& name) {
  return std::ranges::any_of(VisibleCommands(app), [&](const CLI::App* command) {
    const CLI::Option* option = command->get_option_no_throw(name);
    return (option != nullptr && TakesValue(*option)) || TakesValueBelow(*command, name);
  });
}

}  // namespace

std::vector<std::string> WithCommandFirst(const CLI::App& app, std::vector<std::string> arguments) {
  const CLI::App* at = &app;
  for (size_t begin = 0; begin < arguments.size(); ++begin) {
    size_t found = begin;
    for (; found < arguments.size(); ++found) {
      const std::string& word = arguments[found];
      if (word == "--help" || word == "-h" || word == "--") return arguments;
      if (!word.starts_with('-')) break;
      if (at != &app && at->get_option_no_throw(word) != nullptr) return arguments;  // of the command itself
      const bool has_own_value = word.find('=') != std::string::npos;
      if (!has_own_value && TakesValueBelow(*at, word)) ++found;
    }
    const CLI::App* command = found < arguments.size() ? FindCommand(*at, arguments[found]) : nullptr;
    if (command == nullptr) return arguments;
    const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(begin);
    std::rotate(first, arguments.begin() + static_cast<std::ptrdiff_t>(found),
                arguments.begin() + static_cast<std::ptrdiff_t>(found) + 1);
    at = command;
    if (VisibleCommands(*at).empty()) return arguments;
  }
  return arguments;
}

}  // namespace lagwatch::base
