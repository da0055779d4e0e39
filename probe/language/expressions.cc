// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "probe/language/parts.h"

namespace lagwatch::probe {
namespace {

struct SignRow {
  std::string_view sign;
  std::string_view word;  // another spelling
};
// As C binds them, the loosest first.
constexpr std::array<std::array<SignRow, 4>, 9> kLevels = {{
    {{{"||", "or"}}},
    {{{"&&", "and"}}},
    {{{"|", ""}}},
    {{{"^", ""}}},
    {{{"&", ""}}},
    {{{"==", ""}, {"!=", ""}, {"~", "like"}}},
    {{{"<", ""}, {"<=", ""}, {">", ""}, {">=", ""}}},
    {{{"<<", ""}, {">>", ""}}},
    {{{"+", ""}, {"-", ""}}},
}};
constexpr std::array<SignRow, 3> kFactors = {{{"*", ""}, {"/", ""}, {"%", ""}}};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream* tokens) : tokens_(*tokens) {}

  ExpressionPointer Take() { return Binary(0); }

 private:
  ExpressionPointer New(Expression::Kind kind) const {
    auto expression = std::make_unique<Expression>();
    expression->kind = kind;
    expression->position = tokens_.token().position;
    expression->text = tokens_.token().text;
    return expression;
  }

  template <typename Rows>
  std::string_view Sign(const Rows& rows) const {
    for (const SignRow& row : rows) {
      if (!row.sign.empty() && (tokens_.Is(row.sign) || (!row.word.empty() && tokens_.Is(row.word))))
        return row.sign;
    }
    return {};
  }

  ExpressionPointer Binary(size_t level) {
    const bool is_last = level == kLevels.size();
    const char* const begin = tokens_.token().text.data();
    ExpressionPointer left = is_last ? Prefix() : Binary(level + 1);
    for (;;) {
      const std::string_view sign = is_last ? Sign(kFactors) : Sign(kLevels[level]);
      if (sign.empty()) return left;
      ExpressionPointer whole = New(Expression::Kind::kBinary);
      whole->text = sign;
      tokens_.Advance();
      ExpressionPointer right = is_last ? Prefix() : Binary(level + 1);
      whole->parts.push_back(std::move(left));
      whole->parts.push_back(std::move(right));
      whole->source = tokens_.SourceSince(begin);
      left = std::move(whole);
    }
  }

  ExpressionPointer Prefix() {
    const ScopedDepth depth(&tokens_, &depth_);
    constexpr std::pair<std::string_view, Expression::Kind> kPrefixes[] = {{"-", Expression::Kind::kNegate},
                                                                           {"!", Expression::Kind::kNot},
                                                                           {"not", Expression::Kind::kNot},
                                                                           {"~", Expression::Kind::kInvert},
                                                                           {"*", Expression::Kind::kPointee}};
    const char* const begin = tokens_.token().text.data();
    for (const auto& [sign, kind] : kPrefixes) {
      if (!tokens_.Is(sign)) continue;
      ExpressionPointer whole = New(kind);
      tokens_.Advance();
      whole->parts.push_back(Prefix());
      whole->source = tokens_.SourceSince(begin);
      return whole;
    }
    return Postfix();
  }

  ExpressionPointer Postfix() {
    const char* const begin = tokens_.token().text.data();
    ExpressionPointer inner = Primary();
    for (uint32_t count = 0; !tokens_.failed(); ++count) {
      if (count > 32) tokens_.FailHere("this path is too long");
      if (tokens_.Is(".") || tokens_.Is("->")) {
        tokens_.Advance();
        ExpressionPointer field = New(Expression::Kind::kField);
        field->text = tokens_.TakeName("the name of a member");
        field->parts.push_back(std::move(inner));
        inner = std::move(field);
      } else if (tokens_.Is("[")) {
        ExpressionPointer element = New(Expression::Kind::kIndex);
        tokens_.Advance();
        element->parts.push_back(std::move(inner));
        element->parts.push_back(Take());
        tokens_.Expect("]", "after the index");
        inner = std::move(element);
      } else {
        return inner;
      }
      inner->source = tokens_.SourceSince(begin);
    }
    return inner;
  }

  ExpressionPointer Primary() {
    const Token& token = tokens_.token();
    const char* const begin = token.text.data();
    ExpressionPointer inner;
    if (token.kind == TokenKind::kNumber || token.kind == TokenKind::kFloat) {
      inner = New(token.kind == TokenKind::kNumber ? Expression::Kind::kNumber : Expression::Kind::kFloat);
      inner->number = token.number;
      inner->real = token.real;
      inner->unit = token.unit;
      tokens_.Advance();
    } else if (token.kind == TokenKind::kText) {
      inner = New(Expression::Kind::kText);
      inner->text = token.content;
      tokens_.Advance();
    } else if (tokens_.Is("(")) {
      tokens_.Advance();
      inner = Take();
      tokens_.Expect(")", "to close the parenthesis");
    } else if (tokens_.IsName()) {
      inner = Name();
    } else {
      tokens_.FailHere("expected a value, found " + tokens_.Found());
      inner = New(Expression::Kind::kNumber);
    }
    inner->source = tokens_.SourceSince(begin);
    return inner;
  }

  // A name, a constant by name, or a built-in function.
  ExpressionPointer Name() {
    ExpressionPointer inner = New(Expression::Kind::kName);
    tokens_.Advance();
    if (inner->text == "true" || inner->text == "false" || inner->text == "null" || inner->text == "NULL") {
      inner->kind = Expression::Kind::kNumber;
      inner->number = inner->text == "true";
    } else if (tokens_.Accept("(")) {
      inner->kind = Expression::Kind::kCall;
      if (tokens_.Accept(")")) return inner;
      do {
        inner->parts.push_back(Take());
      } while (tokens_.Accept(","));
      tokens_.Expect(")", "after the arguments");
    }
    return inner;
  }

  TokenStream& tokens_;
  uint32_t depth_ = 0;
};

}  // namespace

ExpressionPointer TakeExpression(TokenStream* tokens) { return ExpressionParser(tokens).Take(); }

}  // namespace lagwatch::probe
