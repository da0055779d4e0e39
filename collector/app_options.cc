// SPDX-License-Identifier: Apache-2.0
#include "collector/app_options.h"

#include <charconv>
#include <optional>

namespace lagwatch::collector {
namespace {

// A file of the data directory may be named after a program.
constexpr size_t kMostAppBytes = 64;

std::optional<int64_t> NumberIn(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

base::Result<std::map<std::string, int64_t, std::less<>>> ParseAppOption(
    const AppOption& option, const std::vector<std::string>& texts) {
  std::map<std::string, int64_t, std::less<>> numbers;
  const std::string unit = option.unit;
  const auto wrong = [&](const std::string& text, const std::string& why) {
    return Status(StatusCode::kInvalid, std::string(option.name) + " '" + text + "': " + why);
  };
  for (const std::string& text : texts) {
    const size_t mark = text.rfind('=');
    if (mark == std::string::npos || mark == 0)
      return wrong(text, "give it as APP=" + unit + ", such as editor=30");
    const std::string app = text.substr(0, mark);
    const auto number = NumberIn(text.substr(mark + 1));
    if (app.size() > kMostAppBytes)
      return wrong(text, "APP has at most " + std::to_string(kMostAppBytes) + " bytes");
    if (!number || *number < 1 || *number > option.most)
      return wrong(text, unit + " is a number from 1 to " + std::to_string(option.most));
    if (!numbers.emplace(app, *number).second)
      return wrong(text, "the program " + app + " has a number already");
  }
  return numbers;
}

}  // namespace lagwatch::collector
