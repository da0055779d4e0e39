// SPDX-License-Identifier: Apache-2.0
#include "probe/scripts/scripts.h"

#include <algorithm>

#include "base/text.h"

namespace lagwatch::probe {
namespace {

constexpr BundledScript kScripts[] = {
#include "probe/scripts/scripts.inc"
};

constexpr std::string_view kArguments = "# arguments: ";

}  // namespace

std::string_view BundledScript::Title() const {
  std::string_view rest = text;
  std::string_view line = base::TakeUntil('\n', &rest);
  line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
  return line;
}

std::vector<ScriptArgument> BundledScript::Arguments() const {
  std::vector<ScriptArgument> arguments;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = base::TakeUntil('\n', &rest);
    if (!line.starts_with(kArguments)) continue;
    line.remove_prefix(kArguments.size());
    while (!line.empty()) {
      std::string_view word = base::TakeUntil(' ', &line);
      const std::string_view argument = base::TakeUntil('=', &word);
      arguments.push_back({std::string(argument), std::string(word)});
    }
  }
  return arguments;
}

Result<std::string> BundledScript::WithArguments(std::span<const std::string> given) const {
  const std::vector<ScriptArgument> arguments = Arguments();
  if (given.size() > arguments.size()) {
    return Status(StatusCode::kInvalid, "the script " + std::string(name) + " takes " +
                                            std::to_string(arguments.size()) + " arguments");
  }
  std::string filled(text);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& value = i < given.size() ? given[i] : arguments[i].fallback;
    if (value.empty()) {
      return Status(StatusCode::kInvalid,
                    "the script " + std::string(name) + " takes an argument " + arguments[i].name);
    }
    const std::string variable = '$' + arguments[i].name;
    for (size_t at = 0; (at = filled.find(variable, at)) != std::string::npos; at += value.size()) {
      filled.replace(at, variable.size(), value);
    }
  }
  return filled;
}

std::span<const BundledScript> BundledScripts() { return kScripts; }

const BundledScript* FindBundledScript(std::string_view name) {
  const auto found = std::ranges::find(kScripts, name, &BundledScript::name);
  return found == std::end(kScripts) ? nullptr : &*found;
}

}  // namespace lagwatch::probe
