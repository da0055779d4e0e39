// SPDX-License-Identifier: Apache-2.0
#include "tools/service/watch_rule_text.h"

#include <algorithm>

#include "base/text.h"

namespace lagwatch::tools {
namespace {

std::string FirstLine(std::string_view unit) {
  return "# Written by `lagwatch enable --watch " + std::string(unit) + "`\n";
}
std::string LastLine(std::string_view unit) { return "# End of the rule for " + std::string(unit) + "\n"; }

// "--threshold-ms" → "threshold_ms"
std::string OptionName(std::string_view flag) {
  std::string name(flag.substr(2));
  std::ranges::replace(name, '-', '_');
  return name == "spool" ? "spool_directory" : name;
}

std::string TomlValue(std::string_view text) {
  if (base::ParseNumber<uint32_t>(text)) return std::string(text);
  std::string value = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') value += '\\';
    value += c;
  }
  return value + '"';
}

}  // namespace

base::Result<std::string> MakeWatchRule(std::string_view unit, const std::vector<std::string>& run_options) {
  std::string rule = FirstLine(unit) + "[[rule]]\nunit = " + TomlValue(unit) + "\n";
  for (size_t i = 0; i < run_options.size(); ++i) {
    const std::string_view option = run_options[i];
    if (!option.starts_with("--") || option.size() == 2)
      return Status(StatusCode::kInvalid, "'" + std::string(option) + "' is not an option of `lagwatch run`");
    const size_t equals = option.find('=');
    rule += OptionName(option.substr(0, equals)) + " = ";
    if (equals != std::string_view::npos) {
      rule += TomlValue(option.substr(equals + 1));
    } else if (i + 1 < run_options.size() && !run_options[i + 1].starts_with("--")) {
      rule += TomlValue(run_options[++i]);
    } else {
      rule += "true";
    }
    rule += "\n";
  }
  return rule + LastLine(unit);
}

std::string WithWatchRule(std::string_view text, std::string_view rule) {
  // The first line that begins a rule, with the comments above it; these may be those of another rule here.
  size_t at = 0;
  size_t insert_at = std::string_view::npos;
  size_t comments_at = std::string_view::npos;
  while (at < text.size() && insert_at == std::string_view::npos) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = text.substr(at, end - at);
    const size_t begin = line.find_first_not_of(" \t");
    const std::string_view words = begin == std::string_view::npos ? std::string_view() : line.substr(begin);
    if (words.starts_with("[[")) {
      insert_at = comments_at == std::string_view::npos ? at : comments_at;
    } else if (!words.starts_with('#')) {
      comments_at = std::string_view::npos;
    } else if (comments_at == std::string_view::npos) {
      comments_at = at;
    }
    at = end;
  }
  if (insert_at != std::string_view::npos)
    return std::string(text.substr(0, insert_at)).append(rule).append("\n").append(text.substr(insert_at));
  std::string all(text);
  if (!all.empty() && !all.ends_with('\n')) all += '\n';
  if (!all.empty()) all += '\n';
  return all.append(rule);
}

std::string_view FindWatchRule(std::string_view text, std::string_view unit) {
  const std::string first = FirstLine(unit);
  const std::string last = LastLine(unit);
  size_t begin = text.find(first);
  while (begin != std::string_view::npos && begin != 0 && text[begin - 1] != '\n')
    begin = text.find(first, begin + 1);
  if (begin == std::string_view::npos) return {};
  const size_t end = text.find(last, begin);
  if (end == std::string_view::npos) return {};
  return text.substr(begin, end + last.size() - begin);
}

}  // namespace lagwatch::tools
