// SPDX-License-Identifier: Apache-2.0
#include "probe/language/token_stream.h"

#include "base/text.h"

namespace lagwatch::probe {

TokenStream::TokenStream(std::string_view script) : before_(script), lexer_(script) { Advance(); }

bool TokenStream::Is(std::string_view text) const {
  return (token_.kind == TokenKind::kName || token_.kind == TokenKind::kSign) && token_.text == text;
}

char TokenStream::PeekBehind() const {
  Lexer ahead = lexer_;
  return ahead.Peek();
}

std::string_view TokenStream::PatternHere(std::string_view ends) const {
  Lexer here = before_;
  return here.Pattern(ends).text;
}

void TokenStream::Advance() {
  last_end_ = token_.text.data() == nullptr ? nullptr : token_.text.data() + token_.text.size();
  if (failed()) return;
  before_ = lexer_;
  token_ = lexer_.Next();
  if (token_.kind == TokenKind::kBad) FailHere(std::string(token_.text));
}

bool TokenStream::Accept(std::string_view text) {
  if (!Is(text)) return false;
  Advance();
  return true;
}

void TokenStream::Expect(std::string_view text, std::string_view context) {
  if (!Accept(text))
    FailHere("expected " + std::string(text) + " " + std::string(context) + ", found " + Found());
}

std::string TokenStream::TakeName(std::string_view meaning) {
  if (!IsName()) {
    FailHere("expected " + std::string(meaning) + ", found " + Found());
    return {};
  }
  std::string name(token_.text);
  Advance();
  return name;
}

uint64_t TokenStream::TakeNumber(std::string_view meaning, Unit unit, uint64_t least, uint64_t most) {
  if (token_.kind != TokenKind::kNumber || (token_.unit != unit && token_.unit != Unit::kNone) ||
      (unit == Unit::kDuration && token_.unit == Unit::kNone)) {
    const std::string example = unit == Unit::kDuration ? ", as in 10ms" : "";
    FailHere("expected " + std::string(meaning) + example + ", found " + Found());
    return least;
  }
  const uint64_t number = token_.number;
  if (number < least || number > most) {
    FailHere(std::string(meaning) + " is " + std::to_string(least) + " to " + std::to_string(most) +
             (unit == Unit::kDuration ? " ns" : ""));
    return least;
  }
  Advance();
  return number;
}

uint64_t TokenStream::TakeRate(std::string_view meaning, uint64_t most) {
  const uint64_t rate = TakeNumber(meaning, Unit::kNone, 1, most);
  if (Accept("/")) Expect("s", "after the rate, as in 100/s");
  return rate;
}

Token TokenStream::TakePattern(std::string_view ends) {
  if (failed()) return token_;
  lexer_ = before_;
  Token pattern = lexer_.Pattern(ends);
  Advance();
  return pattern;
}

Token TokenStream::TakeRegex() {
  if (failed()) return token_;
  Token regex = lexer_.Regex();
  if (regex.kind == TokenKind::kBad) FailHere(std::string(regex.text));
  Advance();
  return regex;
}

std::string TokenStream::SourceSince(const char* begin) const {
  if (begin == nullptr || last_end_ == nullptr || last_end_ < begin) return {};
  return std::string(base::Trimmed(std::string_view(begin, static_cast<size_t>(last_end_ - begin))));
}

void TokenStream::Fail(Position position, const std::string& message) {
  if (failed()) return;
  status_ = Status(StatusCode::kInvalid,
                   std::to_string(position.line) + ':' + std::to_string(position.column) + ": " + message);
  token_ = Token{.kind = TokenKind::kEnd, .position = position};
}

std::string TokenStream::Found() const {
  return token_.kind == TokenKind::kEnd ? "the end" : "\"" + std::string(token_.text) + "\"";
}

}  // namespace lagwatch::probe
