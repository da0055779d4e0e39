// SPDX-License-Identifier: Apache-2.0
#include "probe/show/value_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace lagwatch::probe {
namespace {

std::string Hex(uint64_t number) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, number, 16).ptr;
  return "0x" + std::string(text, end);
}

// The number of a character of UTF-8.
uint32_t CodeOf(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  uint32_t code = character.size() == 1 ? first : first & (0x7Fu >> character.size());
  for (const char next : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(next) & 0x3F);
  return code;
}

// The bytes of the character of UTF-8 at the text's beginning; 0 if that is another byte.
size_t CharacterSize(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t size = first < 0x80                    ? 1
                      : first >= 0xC2 && first < 0xE0 ? 2
                      : first >= 0xE0 && first < 0xF0 ? 3
                      : first >= 0xF0 && first < 0xF5 ? 4
                                                      : 0;
  if (size == 0 || size > text.size()) return 0;
  const auto is_rest = [](char next) { return (static_cast<unsigned char>(next) & 0xC0) == 0x80; };
  if (!std::ranges::all_of(text.substr(1, size - 1), is_rest)) return 0;
  const uint32_t code = CodeOf(text.substr(0, size));
  const bool is_longer_than_needed = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  return is_longer_than_needed || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : size;
}

// Whether it would act on a terminal in place of being shown: line ends, escapes, changes of direction.
bool IsControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200E && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

// The program's text as UTF-8 that a terminal, and a parser, may have. Other bytes are as \xff: what is one
// key of a table does not look like another one, which Prometheus would refuse.
std::string ShownText(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
    if (size != 0 && !IsControl(CodeOf(character))) {
      shown += character;
    } else {
      for (const char byte : character) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(byte));
        shown += escape;
      }
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace

std::string NumberText(double number) {
  if (!std::isfinite(number)) return std::isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return std::string(text.data(), end);
}

std::string DurationText(int64_t ns) {
  struct Row {
    double ns;
    const char* unit;
  };
  constexpr std::array kUnits = {Row{1e9, "s"}, Row{1e6, "ms"}, Row{1e3, "us"}};
  for (const Row& row : kUnits) {
    if (std::abs(static_cast<double>(ns)) < row.ns) continue;
    std::array<char, 48> text;
    std::snprintf(text.data(), text.size(), "%.3g%s", static_cast<double>(ns) / row.ns, row.unit);
    if (std::abs(static_cast<double>(ns)) >= 1000 * row.ns) {
      std::snprintf(text.data(), text.size(), "%.0f%s", static_cast<double>(ns) / row.ns, row.unit);
    }
    return text.data();
  }
  return std::to_string(ns) + "ns";
}

std::string ValueText(Shown shown, const ResultValue& value, const AddressNamer& namer) {
  switch (shown) {
    case Shown::kNumber:
      return std::to_string(static_cast<int64_t>(value.number));
    case Shown::kUnsigned:
      return std::to_string(value.number);
    case Shown::kHex:
      return Hex(value.number);
    case Shown::kAddress:
      return namer(value.number);
    case Shown::kDuration:
      return DurationText(static_cast<int64_t>(value.number));
    case Shown::kTime:
      return NumberText(static_cast<double>(value.number / 1'000) / 1e6) + "s";
    case Shown::kFloat:
      return NumberText(std::bit_cast<double>(value.number));
    case Shown::kText:
      if (value.is_unreadable) return "(unreadable)";
      return ShownText(value.text) + (value.is_cut ? "…" : "");
    case Shown::kStack: {
      std::string lines;
      for (const uint64_t address : value.stack) lines += "\n    " + namer(address);
      return lines.empty() ? "(no stack)" : lines;
    }
    case Shown::kLiteral:
      break;
  }
  return {};
}

std::string QuotedJson(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    const auto code = static_cast<unsigned char>(text[0]);
    if (size == 0) {
      quoted += "\\ufffd";
    } else if (code == '"' || code == '\\') {
      quoted.append({'\\', text[0]});
    } else if (code < 0x20 || code == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      quoted += escape;
    } else {
      quoted += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return quoted + '"';
}

std::string ValueJson(Shown shown, const ResultValue& value, const AddressNamer& namer) {
  switch (shown) {
    case Shown::kNumber:
    case Shown::kDuration:
    case Shown::kTime:
      return std::to_string(static_cast<int64_t>(value.number));
    case Shown::kUnsigned:
      return std::to_string(value.number);
    case Shown::kFloat: {
      const double number = std::bit_cast<double>(value.number);
      return std::isfinite(number) ? NumberText(number) : "null";
    }
    case Shown::kStack: {
      std::string list = "[";
      for (const uint64_t address : value.stack)
        list += (list.size() > 1 ? "," : "") + QuotedJson(namer(address));
      return list + ']';
    }
    case Shown::kText:
      if (value.is_unreadable) return "null";
      return QuotedJson(value.text);
    default:
      return QuotedJson(ValueText(shown, value, namer));
  }
}

double RowNumber(const Aggregate& aggregate, const ResultRow& row) {
  if (CountsHits(aggregate.kind)) return static_cast<double>(row.count);
  const double number = aggregate.shown == Shown::kFloat ? row.real : static_cast<double>(row.number);
  if (aggregate.kind != AggregateKind::kAverage) return number;
  return row.count == 0 ? 0 : number / static_cast<double>(row.count);
}

std::string RowText(const Aggregate& aggregate, const ResultRow& row) {
  if (!row.has_value) return "(none)";
  if (CountsHits(aggregate.kind)) return std::to_string(row.count);
  if (aggregate.shown == Shown::kDuration)
    return DurationText(static_cast<int64_t>(RowNumber(aggregate, row)));
  if (aggregate.kind == AggregateKind::kAverage || aggregate.shown == Shown::kFloat) {
    return NumberText(RowNumber(aggregate, row));
  }
  return std::to_string(row.number);
}

}  // namespace lagwatch::probe
