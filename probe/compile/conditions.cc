// SPDX-License-Identifier: Apache-2.0
// Conditions as jumps.
#include <array>
#include <limits>

#include "probe/compile/values.h"

namespace lagwatch::probe {
namespace {

using Code = OperationCode;

struct ComparisonRow {
  std::string_view sign;
  std::string_view opposite;
  Code code;  // of two registers, with `swaps` the other way round
  Code unsigned_code;
  bool swaps;
  Code number_code;  // with a number
};
constexpr std::array kComparisons = {
    ComparisonRow{"==", "!=", Code::kJumpIfEqual, Code::kJumpIfEqual, false, Code::kJumpIfEqualTo},
    ComparisonRow{"!=", "==", Code::kJumpIfNotEqual, Code::kJumpIfNotEqual, false, Code::kJumpIfNotEqualTo},
    ComparisonRow{"<", ">=", Code::kJumpIfLess, Code::kJumpIfBelow, false, Code::kJumpIfLessThan},
    ComparisonRow{"<=", ">", Code::kJumpIfLessOrEqual, Code::kJumpIfBelowOrEqual, false, Code::kJumpIfAtMost},
    ComparisonRow{">", "<=", Code::kJumpIfLess, Code::kJumpIfBelow, true, Code::kJumpIfMoreThan},
    ComparisonRow{">=", "<", Code::kJumpIfLessOrEqual, Code::kJumpIfBelowOrEqual, true, Code::kJumpIfAtLeast},
};

const ComparisonRow& RowOf(std::string_view sign) {
  for (const ComparisonRow& row : kComparisons) {
    if (row.sign == sign) return row;
  }
  return kComparisons[0];
}

bool IsShortNumber(const Expression& expression) {
  return expression.kind == Expression::Kind::kNumber &&
         expression.number <= std::numeric_limits<int32_t>::max();
}

bool IsText(const Expression& expression) { return expression.kind == Expression::Kind::kText; }

bool IsZero(const Expression& expression) {
  return expression.kind == Expression::Kind::kNumber && expression.number == 0;
}

constexpr const char* kCannotCompare =
    "these cannot be compared: a text is compared with a text in quotation marks";

}  // namespace

void ValueCompiler::CompileJump(const Expression& condition, bool jump_if, Label* label, size_t to) {
  if (emitter_.failed()) return;
  if (condition.kind == Expression::Kind::kNot) return CompileJump(*condition.parts[0], !jump_if, label, to);
  const bool is_and = condition.kind == Expression::Kind::kBinary && condition.text == "&&";
  const bool is_or = condition.kind == Expression::Kind::kBinary && condition.text == "||";
  if (is_and || is_or) {
    // The first part alone decides `a && b` if it is false, and `a || b` if it is true.
    Label skip;
    const bool decides = is_or;
    CompileJump(*condition.parts[0], decides, decides == jump_if ? label : &skip, to);
    CompileJump(*condition.parts[1], jump_if, label, to);
    return emitter_.Bind(&skip);
  }
  if (IsComparison(condition)) return CompareJump(condition, jump_if, label, to);
  const Value value = CompileNumber(condition, to, "a condition");
  (void)value;
  emitter_.EmitJump(
      condition.position,
      {.code = jump_if ? Code::kJumpIfNotZero : Code::kJumpIfZero, .a = static_cast<uint8_t>(to)}, label);
}

void ValueCompiler::CompareJump(const Expression& comparison, bool jump_if, Label* label, size_t to) {
  const uint8_t left_in = emitter_.Register(comparison.position, to);
  const uint8_t right_in = emitter_.Register(comparison.position, to + 1);
  if (emitter_.failed()) return;
  const Expression& right = *comparison.parts[1];
  if (IsText(*comparison.parts[0]) || IsText(right) || comparison.text == "~") {
    return CompareTexts(comparison, jump_if, label, left_in);
  }
  const Value left_value = Compile(*comparison.parts[0], left_in);
  const ComparisonRow* row = &RowOf(comparison.text);
  const bool is_equality = row->sign == "==" || row->sign == "!=";
  if (IsTextAddress(left_value) && !(is_equality && IsZero(right)))
    return emitter_.Fail(comparison.position, kCannotCompare);
  const bool is_short = IsShortNumber(right) && (!left_value.is_unsigned || is_equality);
  if (left_value.type == RegisterType::kInt && is_short) {
    if (!jump_if) row = &RowOf(row->opposite);
    return emitter_.EmitJump(
        comparison.position,
        {.code = row->number_code, .a = left_in, .number = static_cast<int32_t>(right.number)}, label);
  }
  const Value right_value = Compile(right, right_in);
  if (emitter_.failed()) return;
  if (left_value.type == RegisterType::kFloat || right_value.type == RegisterType::kFloat) {
    ToFloat(comparison.position, left_value, left_in);
    ToFloat(right.position, right_value, right_in);
    return CompareFloats(comparison, row->sign, jump_if, label, left_in);
  }
  if (left_value.type != RegisterType::kInt || right_value.type != RegisterType::kInt) {
    return emitter_.Fail(comparison.position, kCannotCompare);
  }
  if (!jump_if) row = &RowOf(row->opposite);
  const bool is_unsigned = left_value.is_unsigned || right_value.is_unsigned;
  emitter_.EmitJump(comparison.position,
                    {.code = is_unsigned ? row->unsigned_code : row->code,
                     .a = row->swaps ? right_in : left_in,
                     .b = row->swaps ? left_in : right_in},
                    label);
}

// The opposite of < is not >=, because NaN compares as false: a false comparison jumps over a jump.
void ValueCompiler::CompareFloats(const Expression& comparison, std::string_view sign, bool jump_if,
                                  Label* label, uint8_t to) {
  const bool is_opposite = sign == "!=";
  const bool swaps = sign == ">" || sign == ">=";
  const auto other = static_cast<uint8_t>(to + 1);
  const Code code = sign == "==" || is_opposite  ? Code::kJumpIfEqualFloat
                    : sign == "<" || sign == ">" ? Code::kJumpIfLessFloat
                                                 : Code::kJumpIfLessOrEqualFloat;
  const Operation jump{.code = code, .a = swaps ? other : to, .b = swaps ? to : other};
  if (jump_if != is_opposite) return emitter_.EmitJump(comparison.position, jump, label);
  Label over;
  emitter_.EmitJump(comparison.position, jump, &over);
  emitter_.EmitJump(comparison.position, {.code = Code::kJump}, label);
  emitter_.Bind(&over);
}

void ValueCompiler::CompareTexts(const Expression& comparison, bool jump_if, Label* label, uint8_t to) {
  const bool is_left = IsText(*comparison.parts[0]) && comparison.text != "~";
  const Expression& literal = *comparison.parts[is_left ? 0 : 1];
  const Expression& other = *comparison.parts[is_left ? 1 : 0];
  const bool is_match = comparison.text == "~";
  if (!IsText(literal) || (!is_match && comparison.text != "==" && comparison.text != "!=")) {
    return emitter_.Fail(
        comparison.position,
        "a text is compared by ==, != or ~ (a pattern with * and ?) with a text in quotation marks");
  }
  Value value = Stored(other.position, Compile(other, to), to);
  if (emitter_.failed()) return;
  if (value.type != RegisterType::kText) {
    return emitter_.Fail(
        other.position,
        "\"" + other.source + "\" is no text, so far as is known: use str() if it is the address of one");
  }
  emitter_.Emit(comparison.position, {.code = is_match ? Code::kMatchesText : Code::kEqualsText,
                                      .to = to,
                                      .a = to,
                                      .number = emitter_.Text(literal.position, literal.text)});
  const bool jumps_if_equal = jump_if != (comparison.text == "!=");
  emitter_.EmitJump(comparison.position,
                    {.code = jumps_if_equal ? Code::kJumpIfNotZero : Code::kJumpIfZero, .a = to}, label);
}

}  // namespace lagwatch::probe
