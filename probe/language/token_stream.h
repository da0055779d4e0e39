// SPDX-License-Identifier: Apache-2.0
// The tokens of a script with one ahead, and the first error. After an error all tokens are the end, so that
// each part of the parser may go on and return. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "probe/language/lexer.h"

namespace lagwatch::probe {

class TokenStream {
 public:
  explicit TokenStream(std::string_view script);

  const Token& token() const { return token_; }
  bool Is(std::string_view text) const;
  bool IsName() const { return token_.kind == TokenKind::kName; }
  bool IsEnd() const { return token_.kind == TokenKind::kEnd; }
  // The present token as a name of functions, which ends at a blank or one of `ends`.
  std::string_view PatternHere(std::string_view ends) const;
  // The next letter behind the present token; 0 at the end.
  char PeekBehind() const;
  void Advance();
  // Advances over `text` if it is next.
  bool Accept(std::string_view text);
  // Fails if `text` is not next; `context` says what it belongs to.
  void Expect(std::string_view text, std::string_view context);
  std::string TakeName(std::string_view meaning);
  // A whole number, or a duration in ns, between the bounds.
  uint64_t TakeNumber(std::string_view meaning, Unit unit, uint64_t least, uint64_t most);
  // "100/s" or "100".
  uint64_t TakeRate(std::string_view meaning, uint64_t most);
  // Reads the present token again, as a name of functions and similar things, which ends at a blank or one of
  // `ends`.
  Token TakePattern(std::string_view ends);
  // Reads the present token, a `/`, again as a regular expression.
  Token TakeRegex();
  // The script from `begin` to the present token.
  std::string SourceSince(const char* begin) const;

  void Fail(Position position, const std::string& message);
  void FailHere(const std::string& message) { Fail(token_.position, message); }
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  // The present token, for messages: `"x"`, or "the end".
  std::string Found() const;

 private:
  Lexer before_;  // at the present token
  Lexer lexer_;
  Token token_;
  const char* last_end_ = nullptr;  // of the token before the present one
  Status status_;
};

// Counts the depth of nested parts, which is bounded, for as long as this object lives.
class ScopedDepth {
 public:
  ScopedDepth(TokenStream* tokens, uint32_t* depth) : depth_(depth) {
    if (++*depth_ > kMost) tokens->FailHere("this is nested too deep");
  }
  ~ScopedDepth() { --*depth_; }
  ScopedDepth(const ScopedDepth&) = delete;
  ScopedDepth& operator=(const ScopedDepth&) = delete;

 private:
  static constexpr uint32_t kMost = 64;
  uint32_t* depth_;
};

}  // namespace lagwatch::probe
