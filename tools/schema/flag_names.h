// SPDX-License-Identifier: Apache-2.0
// Names and help of the flags that `lagwatch run` has for options.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace lagwatch::tools {

// "threshold_ms" → "--threshold-ms"
inline std::string FlagName(std::string_view option) {
  std::string flag = "--" + std::string(option == "spool_directory" ? "spool" : option);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

// "threshold_ms" → "LAGWATCH_THRESHOLD_MS"
inline std::string FlagVariable(std::string_view option) {
  std::string variable = "LAGWATCH_" + std::string(option == "spool_directory" ? "spool" : option);
  std::ranges::transform(variable, variable.begin(), [](unsigned char c) { return std::toupper(c); });
  return variable;
}

// The first sentence of the help, without its full stop.
inline std::string HelpLine(std::string_view help) {
  std::string line(help.substr(0, help.find(". ")));
  if (line.ends_with('.')) line.pop_back();
  return line;
}

}  // namespace lagwatch::tools
