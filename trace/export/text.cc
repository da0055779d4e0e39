// SPDX-License-Identifier: Apache-2.0
#include "trace/export/text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace lagwatch::trace {
namespace {

std::string Dump(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line = nlohmann::json::parse(Dump(text)).get<std::string>();
  std::replace_if(
      line.begin(), line.end(),
      [](char each) { return static_cast<unsigned char>(each) < ' ' || each == '\x7f'; }, ' ');
  return line;
}

void AppendJson(std::string_view text, std::string* json) { *json += Dump(text); }

void AppendNumber(int64_t number, std::string* text) {
  char digits[24];
  text->append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

void AppendUs(int64_t ns, std::string* text) {
  constexpr int64_t kNsPerUs = 1'000;
  if (ns < 0) *text += '-';
  const int64_t distance_ns = ns < 0 ? -ns : ns;
  AppendNumber(distance_ns / kNsPerUs, text);
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03d", static_cast<int>(distance_ns % kNsPerUs));
  *text += fraction;
}

std::string Hex(uint64_t number) {
  char digits[2 + 16 + 1];
  std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(number));
  return digits;
}

}  // namespace lagwatch::trace
