// SPDX-License-Identifier: Apache-2.0
#include "probe/language/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace lagwatch::probe {
namespace {

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }
bool IsNameStart(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' ||
         letter == '$';
}
bool IsNamePart(char letter) { return IsNameStart(letter) || IsDigit(letter); }
bool IsBlank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n'; }

struct UnitRow {
  std::string_view name;
  Unit unit;
  double factor;
};
constexpr std::array kUnits = {
    UnitRow{"ns", Unit::kDuration, 1},     UnitRow{"us", Unit::kDuration, 1e3},
    UnitRow{"ms", Unit::kDuration, 1e6},   UnitRow{"s", Unit::kDuration, 1e9},
    UnitRow{"min", Unit::kDuration, 6e10}, UnitRow{"h", Unit::kDuration, 3.6e12},
    UnitRow{"B", Unit::kSize, 1},          UnitRow{"KB", Unit::kSize, 1e3},
    UnitRow{"MB", Unit::kSize, 1e6},       UnitRow{"GB", Unit::kSize, 1e9},
    UnitRow{"KiB", Unit::kSize, 0x1p10},   UnitRow{"MiB", Unit::kSize, 0x1p20},
    UnitRow{"GiB", Unit::kSize, 0x1p30},
};

// The longest first.
constexpr std::array<std::string_view, 11> kLongSigns = {
    "...", "->", "::", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>"};

}  // namespace

void Lexer::Advance(size_t count) {
  for (; count > 0 && at_ < script_.size(); --count) {
    if (script_[at_++] == '\n') {
      ++position_.line;
      position_.column = 1;
    } else {
      ++position_.column;
    }
  }
}

bool Lexer::SkipBlanks() {
  const uint16_t line = position_.line;
  while (at_ < script_.size()) {
    const std::string_view rest = script_.substr(at_);
    if (IsBlank(rest[0])) {
      Advance(1);
    } else if (rest[0] == '#' || rest.starts_with("//")) {
      Advance(std::min(rest.find('\n'), rest.size()));
    } else if (rest.starts_with("/*")) {
      const size_t end = rest.find("*/", 2);
      Advance(end == std::string_view::npos ? rest.size() : end + 2);
    } else {
      break;
    }
  }
  return position_.line != line;
}

char Lexer::Peek() {
  SkipBlanks();
  return at_ < script_.size() ? script_[at_] : '\0';
}

Token Lexer::Bad(Token token, std::string_view message) {
  token.kind = TokenKind::kBad;
  token.text = message;
  at_ = script_.size();
  return token;
}

Token Lexer::Pattern(std::string_view ends) {
  SkipBlanks();
  Token token{.kind = TokenKind::kName, .position = position_};
  size_t size = 0;
  while (at_ + size < script_.size() && !IsBlank(script_[at_ + size]) &&
         ends.find(script_[at_ + size]) == std::string_view::npos) {
    ++size;
  }
  token.text = script_.substr(at_, size);
  Advance(size);
  return token;
}

Token Lexer::Regex() {
  Token token{.kind = TokenKind::kText, .position = position_};
  const size_t begin = at_;
  while (at_ < script_.size() && script_[at_] != '/' && script_[at_] != '\n') {
    Advance(script_[at_] == '\\' ? 2 : 1);
  }
  if (at_ >= script_.size() || script_[at_] != '/')
    return Bad(token, "the regular expression does not end: write /…/");
  token.content = script_.substr(begin, at_ - begin);
  Advance(1);
  return token;
}

Token Lexer::Number() {
  Token token{.kind = TokenKind::kNumber, .position = position_};
  const std::string_view rest = script_.substr(at_);
  const bool is_hex = rest.starts_with("0x") || rest.starts_with("0X");
  const char* const begin = rest.data() + (is_hex ? 2 : 0);
  const char* const end = rest.data() + rest.size();
  auto [behind, error] = std::from_chars(begin, end, token.number, is_hex ? 16 : 10);
  if (error != std::errc()) return Bad(token, "this number is none of 64 bits");
  if (!is_hex && behind + 1 < end && behind[0] == '.' && IsDigit(behind[1])) {
    token.kind = TokenKind::kFloat;
    behind = std::from_chars(begin, end, token.real, std::chars_format::general).ptr;
  }
  const char* unit_end = behind;
  while (unit_end < end && IsNamePart(*unit_end)) ++unit_end;
  const std::string_view unit_name(behind, static_cast<size_t>(unit_end - behind));
  Advance(static_cast<size_t>(unit_end - rest.data()));
  token.text = rest.substr(0, static_cast<size_t>(unit_end - rest.data()));
  if (unit_name.empty()) return token;
  for (const UnitRow& row : kUnits) {
    if (row.name != unit_name) continue;
    const double value =
        (token.kind == TokenKind::kFloat ? token.real : static_cast<double>(token.number)) * row.factor;
    if (value >= 0x1p63) return Bad(token, "this number is too large");
    token.number = token.kind == TokenKind::kFloat ? static_cast<uint64_t>(std::llround(value))
                                                   : token.number * static_cast<uint64_t>(row.factor);
    token.kind = TokenKind::kNumber;
    token.unit = row.unit;
    return token;
  }
  return Bad(token, "unknown unit: use ns, us, ms, s, min, h, B, KB, MB, GB, KiB, MiB or GiB");
}

Token Lexer::Text() {
  Token token{.kind = TokenKind::kText, .position = position_};
  const size_t begin = at_;
  Advance(1);
  while (at_ < script_.size() && script_[at_] != '"' && script_[at_] != '\n') {
    char letter = script_[at_];
    if (letter == '\\' && at_ + 1 < script_.size()) {
      Advance(1);
      letter = script_[at_] == 'n' ? '\n' : script_[at_] == 't' ? '\t' : script_[at_];
    }
    if (letter == '\0') return Bad(token, "a text has no zero byte");
    token.content += letter;
    Advance(1);
  }
  if (at_ >= script_.size() || script_[at_] != '"') return Bad(token, "the text does not end: write \"…\"");
  Advance(1);
  token.text = script_.substr(begin, at_ - begin);
  return token;
}

Token Lexer::Next() {
  const bool is_on_new_line = SkipBlanks();
  Token token{.position = position_};
  if (at_ < script_.size()) {
    const std::string_view rest = script_.substr(at_);
    if (IsDigit(rest[0])) {
      token = Number();
    } else if (rest[0] == '"') {
      token = Text();
    } else {
      size_t size = 0;
      while (size < rest.size() && (size == 0 ? IsNameStart(rest[0]) : IsNamePart(rest[size]))) ++size;
      token.kind = size > 0 ? TokenKind::kName : TokenKind::kSign;
      for (const std::string_view sign : kLongSigns) {
        if (size == 0 && rest.starts_with(sign)) size = sign.size();
      }
      if (size == 0) size = 1;
      token.text = rest.substr(0, size);
      Advance(size);
    }
  }
  token.is_on_new_line = is_on_new_line;
  return token;
}

}  // namespace lagwatch::probe
