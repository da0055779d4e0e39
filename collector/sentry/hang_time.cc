// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>

#include "collector/sentry/hang.h"

namespace lagwatch::collector {
namespace {

constexpr double kLongestS = 366.0 * 86'400;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// The letters and digits that `text` begins with.
std::string_view WordOf(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, [](char c) { return IsLetter(c) || IsDigit(c); });
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

// The unit that `text` begins with, in seconds; 0 if it is unknown.
double UnitOf(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, IsLetter);
  const std::string_view word = text.substr(0, static_cast<size_t>(end - text.begin()));
  if (word == "ms" || word == "milliseconds") return 1e-3;
  if (word == "s" || word == "sec" || word == "second" || word == "seconds") return 1;
  return 0;
}

std::string_view WithoutBlanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

int64_t ToNs(double number, double unit_s) {
  return static_cast<int64_t>(std::clamp(number * unit_s, 0.0, kLongestS) * 1e9);
}

}  // namespace

std::optional<HangTime> FindHangTime(std::string_view text) {
  std::optional<double> before;  // a number that "and" or "to" stands behind
  bool is_lower_bound = false;
  while (!text.empty()) {
    if (!IsDigit(text.front())) {
      const std::string_view word = WordOf(text);
      if (!word.empty()) is_lower_bound = word == "least";
      text.remove_prefix(std::max<size_t>(word.size(), 1));
      continue;
    }
    double number = 0;
    const auto parsed =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    text = WithoutBlanks(text.substr(static_cast<size_t>(parsed.ptr - text.data())));
    if (parsed.ec != std::errc() || number > 1e12) return std::nullopt;
    if (const double unit_s = UnitOf(text); unit_s > 0) {
      if (number * unit_s > kLongestS) return std::nullopt;
      if (is_lower_bound) return HangTime{ToNs(number, unit_s)};
      return HangTime{ToNs(std::min(before.value_or(number), number), unit_s), ToNs(number, unit_s)};
    }
    before = text.starts_with("and ") || text.starts_with("to ") ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace lagwatch::collector
