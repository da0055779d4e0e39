// SPDX-License-Identifier: Apache-2.0
// Compiles expressions. Each is computed into a given register, and the registers above it are free for its
// parts. Context: background.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probe/compile/emitter.h"
#include "probe/compile/names.h"
#include "probe/language/tree.h"

namespace lagwatch::probe {

class ValueCompiler {
 public:
  // Both outlive this object.
  ValueCompiler(Emitter* emitter, Names* names) : emitter_(*emitter), names_(*names) {}

  // Any value into register `to`.
  Value Compile(const Expression& expression, size_t to);
  // As a whole number, or as a text; fails with `meaning` if it is something else.
  Value CompileNumber(const Expression& expression, size_t to, std::string_view meaning);
  // Turns the value in `to` into what is stored of it: strings of C into texts.
  Value Stored(Position position, Value value, size_t to);
  // Jumps to `label` if the condition is `jump_if`, and goes on otherwise. Uses registers from `to` on.
  void CompileJump(const Expression& condition, bool jump_if, Label* label, size_t to);

 private:
  // A value in memory: its address is the register's plus the offset.
  struct Location {
    TypePointer type;
    int64_t offset = 0;
  };

  Value Constant(const Expression& expression, uint8_t to);
  Value Name(const Expression& expression, uint8_t to);
  Value HitValueOf(const HitValueRow& row, Position position, uint8_t to);
  Value Argument(Position position, size_t index, uint8_t to);
  // Of a method of Java: nothing if the expression is no argument, `this` or returned value of its own kind.
  // `is_text`: the text that it has, else what the script has declared.
  std::optional<Value> JavaValue(const Expression& expression, bool is_text, uint8_t to);
  Value RawArgument(const Expression& expression, uint32_t index, uint8_t to);
  Value Returned(Position position, uint8_t to);
  Value Piece(Position position, const ArgumentPiece& piece, const TypePointer& type, bool is_returned,
              uint8_t to);
  Value Call(const Expression& expression, uint8_t to);
  Value Stack(Position position, uint64_t frames, uint8_t to);
  Value Prefix(const Expression& expression, uint8_t to);
  Value Binary(const Expression& expression, uint8_t to);
  Value FloatBinary(const Expression& expression, Value left, Value right, uint8_t to);
  Value Condition(const Expression& expression, uint8_t to);
  Value InMemory(const Expression& expression, uint8_t to);
  // A member of a struct that was handed over in registers; nothing if the expression is not one.
  bool MemberOfArgument(const Expression& expression, uint8_t to, Value* value);
  Location Locate(const Expression& expression, uint8_t to);
  Location Pointee(const Expression& expression, uint8_t to);
  Location MemberOf(const Expression& expression, Location whole);
  Value Load(Position position, const Location& location, uint8_t to);
  void Add(Position position, uint8_t to, int64_t offset);
  Value ToFloat(Position position, Value value, uint8_t to);
  Value Typed(TypePointer type) const;
  void CompareJump(const Expression& comparison, bool jump_if, Label* label, size_t to);
  void CompareTexts(const Expression& comparison, bool jump_if, Label* label, uint8_t to);
  void CompareFloats(const Expression& comparison, std::string_view sign, bool jump_if, Label* label,
                     uint8_t to);

  Emitter& emitter_;
  Names& names_;
};

// The signs that compare.
bool IsComparison(const Expression& expression);

}  // namespace lagwatch::probe
