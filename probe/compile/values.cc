// SPDX-License-Identifier: Apache-2.0
#include "probe/compile/values.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "probe/language/nearest_names.h"

namespace lagwatch::probe {
namespace {

using Code = OperationCode;

constexpr uint64_t kStackFrames = 32;  // unless the script says another number

struct ArithmeticRow {
  std::string_view sign;
  Code code;
  Code unsigned_code;
  Code float_code;  // kEnd: none
};
constexpr std::array kArithmetic = {
    ArithmeticRow{"+", Code::kAdd, Code::kAdd, Code::kAddFloat},
    ArithmeticRow{"-", Code::kSubtract, Code::kSubtract, Code::kSubtractFloat},
    ArithmeticRow{"*", Code::kMultiply, Code::kMultiply, Code::kMultiplyFloat},
    ArithmeticRow{"/", Code::kDivide, Code::kDivideUnsigned, Code::kDivideFloat},
    ArithmeticRow{"%", Code::kRemainder, Code::kRemainderUnsigned, Code::kEnd},
    ArithmeticRow{"&", Code::kAnd, Code::kAnd, Code::kEnd},
    ArithmeticRow{"|", Code::kOr, Code::kOr, Code::kEnd},
    ArithmeticRow{"^", Code::kXor, Code::kXor, Code::kEnd},
    ArithmeticRow{"<<", Code::kShiftLeft, Code::kShiftLeft, Code::kEnd},
    ArithmeticRow{">>", Code::kShiftRight, Code::kShiftRightUnsigned, Code::kEnd},
};

bool IsLogical(const Expression& expression) {
  return expression.kind == Expression::Kind::kNot || IsComparison(expression) ||
         (expression.kind == Expression::Kind::kBinary &&
          (expression.text == "&&" || expression.text == "||"));
}

// Durations stay durations when they are added, and when they are multiplied with or divided by a number.
Shown ShownOf(std::string_view sign, Shown left, Shown right) {
  const bool is_left = left == Shown::kDuration;
  const bool is_right = right == Shown::kDuration;
  const bool stays = sign == "+" || sign == "-" ? is_left || is_right
                     : sign == "*"              ? is_left != is_right
                     : sign == "/"              ? is_left && !is_right
                     : sign == "%"              ? is_left
                                                : false;
  if (stays) return Shown::kDuration;
  const bool is_hex = left == Shown::kHex || right == Shown::kHex;
  return is_hex && (sign == "&" || sign == "|" || sign == "^") ? Shown::kHex : Shown::kNumber;
}

}  // namespace

bool IsComparison(const Expression& expression) {
  constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">=", "~"};
  if (expression.kind != Expression::Kind::kBinary) return false;
  for (const std::string_view sign : kComparisons) {
    if (sign == expression.text) return true;
  }
  return false;
}

Value ValueCompiler::Compile(const Expression& expression, size_t to) {
  const uint8_t in = emitter_.Register(expression.position, to);
  if (emitter_.failed()) return {};
  if (IsLogical(expression)) return Condition(expression, in);
  switch (expression.kind) {
    case Expression::Kind::kNumber:
    case Expression::Kind::kFloat:
    case Expression::Kind::kText:
      return Constant(expression, in);
    case Expression::Kind::kName:
      return Name(expression, in);
    case Expression::Kind::kField:
    case Expression::Kind::kIndex:
    case Expression::Kind::kPointee:
      return InMemory(expression, in);
    case Expression::Kind::kCall:
      return Call(expression, in);
    case Expression::Kind::kBinary:
      return Binary(expression, in);
    default:
      return Prefix(expression, in);
  }
}

Value ValueCompiler::CompileNumber(const Expression& expression, size_t to, std::string_view meaning) {
  const Value value = Compile(expression, to);
  if (value.type != RegisterType::kInt && !emitter_.failed()) {
    emitter_.Fail(expression.position, std::string(meaning) + " is a whole number");
  }
  return value;
}

Value ValueCompiler::Constant(const Expression& expression, uint8_t to) {
  if (expression.kind == Expression::Kind::kText) {
    emitter_.Emit(
        expression.position,
        {.code = Code::kSetText, .to = to, .number = emitter_.Text(expression.position, expression.text)});
    return {.type = RegisterType::kText, .shown = Shown::kText};
  }
  if (expression.kind == Expression::Kind::kFloat) {
    emitter_.Emit(expression.position,
                  {.code = Code::kSetFloat, .to = to, .number = emitter_.FloatConstant(expression.real)});
    return {.type = RegisterType::kFloat, .shown = Shown::kFloat};
  }
  emitter_.SetInt(expression.position, to, static_cast<int64_t>(expression.number));
  return {.shown = expression.unit == Unit::kDuration ? Shown::kDuration : Shown::kNumber,
          .is_unsigned = expression.number > INT64_MAX};
}

// The register has the value, or the address, of the type.
Value ValueCompiler::Typed(TypePointer type) const {
  Value value{.c_type = type};
  switch (type->kind) {
    case Type::Kind::kFloat:
      value.type = RegisterType::kFloat;
      value.shown = Shown::kFloat;
      break;
    case Type::Kind::kInt:
      value.is_unsigned = !type->is_signed && type->size == 8;
      value.shown = type->is_signed ? Shown::kNumber : Shown::kUnsigned;
      break;
    default:
      value.is_unsigned = true;
      value.shown = Shown::kHex;
  }
  return value;
}

Value ValueCompiler::Prefix(const Expression& expression, uint8_t to) {
  Value value = Compile(*expression.parts[0], to);
  const bool is_negation = expression.kind == Expression::Kind::kNegate;
  const bool is_float = value.type == RegisterType::kFloat;
  if ((value.type != RegisterType::kInt && !is_float) || (is_float && !is_negation)) {
    emitter_.Fail(expression.position, expression.text + " takes a number");
    return {};
  }
  const Code code = is_float ? Code::kNegateFloat : is_negation ? Code::kNegate : Code::kInvert;
  emitter_.Emit(expression.position, {.code = code, .to = to, .a = to});
  value.c_type = nullptr;
  value.is_unsigned = value.is_unsigned && !is_negation;
  if (value.shown != Shown::kDuration && !is_float) value.shown = Shown::kNumber;
  return value;
}

Value ValueCompiler::Binary(const Expression& expression, uint8_t to) {
  const Value left = Compile(*expression.parts[0], to);
  const uint8_t other = emitter_.Register(expression.position, size_t{to} + 1);
  const Value right = Compile(*expression.parts[1], other);
  if (emitter_.failed()) return {};
  if (left.type == RegisterType::kFloat || right.type == RegisterType::kFloat) {
    return FloatBinary(expression, left, right, to);
  }
  if (left.type != RegisterType::kInt || right.type != RegisterType::kInt) {
    emitter_.Fail(expression.position, expression.text + " takes two numbers");
    return {};
  }
  const Expression& divisor = *expression.parts[1];
  const bool divides = expression.text == "/" || expression.text == "%";
  if (divides && divisor.kind == Expression::Kind::kNumber && divisor.number == 0) {
    emitter_.Fail(divisor.position, "a division by 0");
    return {};
  }
  const bool is_unsigned =
      left.is_unsigned || (right.is_unsigned && expression.text != "<<" && expression.text != ">>");
  for (const ArithmeticRow& row : kArithmetic) {
    if (row.sign != expression.text) continue;
    emitter_.Emit(expression.position,
                  {.code = is_unsigned ? row.unsigned_code : row.code, .to = to, .a = to, .b = other});
  }
  const Shown shown = ShownOf(expression.text, left.shown, right.shown);
  return {.shown = is_unsigned && shown == Shown::kNumber ? Shown::kUnsigned : shown,
          .is_unsigned = is_unsigned};
}

Value ValueCompiler::ToFloat(Position position, Value value, uint8_t to) {
  if (value.type == RegisterType::kFloat) return value;
  if (value.type != RegisterType::kInt) emitter_.Fail(position, "this is no number");
  emitter_.Emit(position,
                {.code = value.is_unsigned ? Code::kToFloatUnsigned : Code::kToFloat, .to = to, .a = to});
  return {.type = RegisterType::kFloat, .shown = Shown::kFloat};
}

Value ValueCompiler::FloatBinary(const Expression& expression, Value left, Value right, uint8_t to) {
  const auto other = static_cast<uint8_t>(to + 1);
  ToFloat(expression.parts[0]->position, left, to);
  ToFloat(expression.parts[1]->position, right, other);
  for (const ArithmeticRow& row : kArithmetic) {
    if (row.sign != expression.text) continue;
    if (row.float_code == Code::kEnd)
      emitter_.Fail(expression.position, expression.text + " takes whole numbers");
    emitter_.Emit(expression.position, {.code = row.float_code, .to = to, .a = to, .b = other});
  }
  return {.type = RegisterType::kFloat, .shown = Shown::kFloat};
}

// 1 or 0.
Value ValueCompiler::Condition(const Expression& expression, uint8_t to) {
  Label is_true;
  Label end;
  CompileJump(expression, true, &is_true, to);
  emitter_.SetInt(expression.position, to, 0);
  emitter_.EmitJump(expression.position, {.code = Code::kJump}, &end);
  emitter_.Bind(&is_true);
  emitter_.SetInt(expression.position, to, 1);
  emitter_.Bind(&end);
  return {};
}

Value ValueCompiler::Call(const Expression& expression, uint8_t to) {
  const auto takes = [&](size_t least, size_t most) {
    const bool is_right = expression.parts.size() >= least && expression.parts.size() <= most;
    if (!is_right)
      emitter_.Fail(expression.position, expression.text + "() takes another number of arguments");
    return is_right;
  };
  const auto number_of = [&](size_t index, uint64_t most, std::string_view meaning) -> uint64_t {
    const Expression& part = *expression.parts[index];
    if (part.kind == Expression::Kind::kNumber && part.number >= 1 && part.number <= most) return part.number;
    emitter_.Fail(part.position, std::string(meaning) + " is a number from 1 to " + std::to_string(most));
    return 1;
  };
  if (expression.text == "stack") {
    if (!takes(1, 1)) return {};
    return Stack(expression.position, number_of(0, kMaxStackFrames, "the depth of a stack"), to);
  }
  if (expression.text == "str" || expression.text == "hex") {
    const bool is_text = expression.text == "str";
    if (!takes(1, is_text ? 2 : 1)) return {};
    const auto width_of_text = [&] {
      return static_cast<uint16_t>(
          expression.parts.size() == 2 ? number_of(1, kMaxTextBytes, "the length of a text") : 0);
    };
    if (auto of_java = is_text ? JavaValue(*expression.parts[0], true, to) : std::nullopt) {
      of_java->width = width_of_text();
      return *of_java;
    }
    if (!is_text) {
      Value value = CompileNumber(*expression.parts[0], to, "the value of hex()");
      value.shown = Shown::kHex;
      value.c_type = nullptr;
      return value;
    }
    const Value whole = Compile(*expression.parts[0], to);
    if (whole.c_type != nullptr && whole.c_type->kind == Type::Kind::kInt && whole.c_type->size < 8) {
      emitter_.Fail(expression.parts[0]->position, "\"" + expression.parts[0]->source + "\" is of type " +
                                                       whole.c_type->name +
                                                       ", str() takes the address of a text");
    }
    Value value = Stored(expression.position, whole, to);
    if (value.type == RegisterType::kInt) {  // of an unknown type: the address of a text
      emitter_.Emit(expression.position, {.code = Code::kAsText, .to = to, .a = to});
      value = {.type = RegisterType::kText, .shown = Shown::kText};
    }
    if (value.type != RegisterType::kText)
      emitter_.Fail(expression.position, "str() takes the address of a text");
    value.width = width_of_text();
    return value;
  }
  const Result<TypePointer> type = names_.types.Resolve(
      TypeName{.position = expression.position, .name = expression.text, .elements = {}});
  if (!type.ok() || type.value()->kind != Type::Kind::kInt) {
    emitter_.Fail(expression.position,
                  "unknown function \"" + expression.text + "\"" +
                      NearestNames(expression.text, {"str", "hex", "stack"}) +
                      "; a whole number is converted by the name of its type, as in int32_t(arg0)");
    return {};
  }
  if (!takes(1, 1)) return {};
  CompileNumber(*expression.parts[0], to, "what is converted");
  const Type& whole = *type.value();
  const auto size = static_cast<uint8_t>(whole.size | (whole.is_signed && whole.size < 8 ? 0x80 : 0));
  emitter_.Emit(expression.position, {.code = Code::kWiden, .to = to, .a = to, .b = size});
  return Typed(*type);
}

Value ValueCompiler::Stack(Position position, uint64_t frames, uint8_t to) {
  emitter_.Emit(position, {.code = Code::kCaptureStack, .to = to, .number = static_cast<int32_t>(frames)});
  return {.type = RegisterType::kStack, .shown = Shown::kStack};
}

Value ValueCompiler::HitValueOf(const HitValueRow& row, Position position, uint8_t to) {
  const bool is_text = row.shown == Shown::kText;
  emitter_.Emit(position, {.code = is_text ? Code::kReadText : Code::kReadValue,
                           .to = to,
                           .number = static_cast<int32_t>(row.value)});
  return {.type = is_text ? RegisterType::kText : RegisterType::kInt, .shown = row.shown};
}

Value ValueCompiler::Name(const Expression& expression, uint8_t to) {
  const std::string& name = expression.text;
  if (const auto found = names_.variables.find(name); found != names_.variables.end()) {
    emitter_.Emit(expression.position, {.code = Code::kCopy, .to = to, .a = found->second.in});
    return found->second.value;
  }
  if (const auto of_java = JavaValue(expression, false, to)) return *of_java;
  const bool has_arguments = (At(names_.place.kind) & kWithArguments) != 0;
  if (names_.signature.has_value() && has_arguments) {
    for (size_t i = 0; i < names_.signature->parameters.size(); ++i) {
      if (names_.signature->parameters[i].name == name) return Argument(expression.position, i, to);
    }
  }
  if (name == "returned" && (At(names_.place.kind) & kWithReturned) != 0)
    return Returned(expression.position, to);
  if (name == "stack") return Stack(expression.position, kStackFrames, to);
  if (const HitValueRow* row = FindHitValue(name, names_.place.kind); row != nullptr) {
    return HitValueOf(*row, expression.position, to);
  }
  if (has_arguments && name.starts_with("arg")) {
    if (const auto index = base::ParseNumber<uint32_t>(std::string_view(name).substr(3))) {
      return RawArgument(expression, *index, to);
    }
  }
  const bool has_unknown_arguments =
      has_arguments && !names_.signature.has_value() && names_.place.kind != PlaceKind::kUsdt;
  const std::string declared = names_.place.name + "(const char* " + name + ")";
  if (const std::string places = PlacesOfValue(name); !places.empty()) {
    emitter_.Fail(expression.position,
                  "\"" + name + "\" is known only at " + places +
                      (has_unknown_arguments ? "; if it is a parameter, declare it, as in " + declared : ""));
    return {};
  }
  std::vector<std::string> known = HitValueNames(names_.place.kind);
  for (const auto& [variable, ignored] : names_.variables) known.push_back(variable);
  if (names_.signature.has_value() && has_arguments) {
    for (const Parameter& parameter : names_.signature->parameters) {
      if (!parameter.name.empty()) known.push_back(parameter.name);
    }
  }
  if ((At(names_.place.kind) & kWithReturned) != 0) known.emplace_back("returned");
  std::string message = "unknown value \"" + name + "\"" + NearestNames(name, std::move(known));
  const bool is_near = message.ends_with('?');
  if (!is_near && has_unknown_arguments)
    message += "; the parameters are unknown: declare them, as in " + declared;
  emitter_.Fail(expression.position, message);
  return {};
}

Value ValueCompiler::RawArgument(const Expression& expression, uint32_t index, uint8_t to) {
  const uint32_t most = names_.place.kind == PlaceKind::kUsdt ? 11 : 5;
  if (index > most)
    emitter_.Fail(expression.position,
                  "the last such argument is arg" + std::to_string(most) + ": declare the parameters");
  emitter_.Emit(expression.position,
                {.code = Code::kReadArgument, .to = to, .number = static_cast<int32_t>(index)});
  return {};
}

Value ValueCompiler::Argument(Position position, size_t index, uint8_t to) {
  const Parameter& parameter = names_.signature->parameters[index];
  const std::vector<ArgumentPiece>& pieces = names_.arguments.parameters[index];
  const bool by_address = parameter.type->kind == Type::Kind::kStdString;
  if (parameter.type->kind == Type::Kind::kStruct || parameter.type->kind == Type::Kind::kLongDouble ||
      pieces.empty()) {
    emitter_.Fail(position, "\"" + parameter.name + "\" is no number and no text: use one of its members");
    return {};
  }
  Value value =
      Piece(position, pieces[0], by_address ? PointerTo(parameter.type) : parameter.type, false, to);
  if (by_address) value.c_type = parameter.type;
  return value;
}

Value ValueCompiler::Returned(Position position, uint8_t to) {
  static const TypePointer kLong = IntType("long", 8, true);
  const bool is_known = names_.signature.has_value() && names_.signature->result != nullptr;
  const TypePointer type = is_known ? names_.signature->result : kLong;
  if (names_.arguments.is_result_in_memory) {
    Value value = Piece(position, ArgumentPiece{}, PointerTo(type), true, to);
    if (type->kind == Type::Kind::kStdString) value.c_type = type;
    return value;
  }
  if (type->kind == Type::Kind::kVoid || type->kind == Type::Kind::kLongDouble ||
      type->kind == Type::Kind::kStruct) {
    emitter_.Fail(position, "the function returns " + type->name + ", which is no number and no text");
    return {};
  }
  return Piece(position, is_known ? names_.arguments.result[0] : ArgumentPiece{}, type, true, to);
}

// A number or pointer of at most 8 bytes.
Value ValueCompiler::Piece(Position position, const ArgumentPiece& piece, const TypePointer& type,
                           bool is_returned, uint8_t to) {
  const bool is_float = type->kind == Type::Kind::kFloat;
  const auto index = static_cast<int32_t>(piece.index);
  if (piece.kind == ArgumentPiece::Kind::kFloat) {
    const Code code = is_returned ? (type->size == 4 ? Code::kReadReturnedFloat32 : Code::kReadReturnedFloat)
                                  : (type->size == 4 ? Code::kReadFloat32Argument : Code::kReadFloatArgument);
    emitter_.Emit(position, {.code = code, .to = to, .number = index});
    return Typed(type);
  }
  const bool is_on_stack = piece.kind == ArgumentPiece::Kind::kStack;
  if (is_on_stack && names_.place.kind != PlaceKind::kEntry && names_.place.kind != PlaceKind::kCall) {
    emitter_.Fail(position, "this argument is on the stack, where it is available at @entry only");
  }
  if (is_on_stack && names_.place.is_java)
    emitter_.Fail(position, "a Java method has at most 6 such arguments");
  emitter_.Emit(position, {.code = is_returned   ? Code::kReadReturned
                                   : is_on_stack ? Code::kReadStackArgument
                                                 : Code::kReadArgument,
                           .to = to,
                           .number = index});
  if (is_float) {
    emitter_.Emit(position,
                  {.code = Code::kFromBits, .to = to, .a = to, .b = static_cast<uint8_t>(type->size)});
  } else if (type->size < 8) {  // the rest of the register is undefined
    const auto size = static_cast<uint8_t>(type->size | (type->is_signed ? 0x80 : 0));
    emitter_.Emit(position, {.code = Code::kWiden, .to = to, .a = to, .b = size});
  }
  return Typed(type);
}

}  // namespace lagwatch::probe
