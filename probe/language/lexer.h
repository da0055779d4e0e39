// SPDX-License-Identifier: Apache-2.0
// Splits a script into tokens. Names of functions have characters of their own, so the parser asks for one of
// them where it expects it: Pattern(). Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "probe/program.h"

namespace lagwatch::probe {

enum class TokenKind : uint8_t { kEnd, kName, kNumber, kFloat, kText, kSign, kBad };

// The unit of a number; durations are in ns and sizes in bytes by then.
enum class Unit : uint8_t { kNone, kDuration, kSize };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text{};  // as in the script; a kBad one's is the message
  Position position{};
  uint64_t number = 0;
  double real = 0;
  std::string content{};  // of a kText, without its quotes
  Unit unit = Unit::kNone;
  bool is_on_new_line = false;
};

class Lexer {
 public:
  // `script` outlives this object and its tokens.
  explicit Lexer(std::string_view script) : script_(script) {}

  Token Next();
  // The next letter that is no blank and no comment; 0 at the end.
  char Peek();
  // The text up to the next blank or one of `ends`, without that.
  Token Pattern(std::string_view ends);
  // After a `/`: the text to the next `/` without a `\` before it, and that.
  Token Regex();
  Position position() const { return position_; }

 private:
  bool SkipBlanks();
  void Advance(size_t count);
  Token Number();
  Token Text();
  Token Bad(Token token, std::string_view message);

  std::string_view script_;
  size_t at_ = 0;
  Position position_{.line = 1, .column = 1};
};

}  // namespace lagwatch::probe
