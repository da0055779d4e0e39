// SPDX-License-Identifier: Apache-2.0
// Members of structs, elements of arrays and what pointers point to.
#include <algorithm>
#include <limits>
#include <utility>

#include "probe/compile/values.h"
#include "probe/language/nearest_names.h"

namespace lagwatch::probe {
namespace {

using Kind = Expression::Kind;

bool IsInMemory(const Expression& expression) {
  return expression.kind == Kind::kField || expression.kind == Kind::kIndex ||
         expression.kind == Kind::kPointee;
}

const Member* FindMember(const Type& type, std::string_view name) {
  const auto found = std::ranges::find(type.members, name, &Member::name);
  return found == type.members.end() ? nullptr : &*found;
}

}  // namespace

void ValueCompiler::Add(Position position, uint8_t to, int64_t offset) {
  if (offset == 0) return;
  if (offset > std::numeric_limits<int32_t>::max() || offset < std::numeric_limits<int32_t>::min()) {
    return emitter_.Fail(position, "this is too far away");
  }
  emitter_.Emit(
      position,
      {.code = OperationCode::kAddNumber, .to = to, .a = to, .number = static_cast<int32_t>(offset)});
}

// The type that a pointer's value points to; its address is in `to`.
ValueCompiler::Location ValueCompiler::Pointee(const Expression& expression, uint8_t to) {
  if (IsInMemory(expression)) {
    Location location = Locate(expression, to);
    if (emitter_.failed() || location.type->kind != Type::Kind::kPointer) return location;
    Load(expression.position, location, to);
    return {names_.types.Complete(location.type->inner)};
  }
  const Value value = Compile(expression, to);
  if (emitter_.failed()) return {};
  if (value.c_type == nullptr ||
      (value.c_type->kind != Type::Kind::kPointer && value.c_type->kind != Type::Kind::kStruct)) {
    emitter_.Fail(expression.position,
                  "\"" + expression.source + "\" is no pointer, so far as is known: declare its type");
    return {};
  }
  return {
      names_.types.Complete(value.c_type->kind == Type::Kind::kPointer ? value.c_type->inner : value.c_type)};
}

ValueCompiler::Location ValueCompiler::MemberOf(const Expression& expression, Location whole) {
  if (emitter_.failed()) return {};
  whole.type = names_.types.Complete(whole.type);
  if (whole.type->kind != Type::Kind::kStruct) {
    emitter_.Fail(expression.position, whole.type->name + (whole.type->kind == Type::Kind::kNamed
                                                               ? " is unknown: declare it, as in struct " +
                                                                     whole.type->name + " { int member; }"
                                                               : " has no members"));
    return {};
  }
  const Member* const member = FindMember(*whole.type, expression.text);
  if (member == nullptr) {
    std::vector<std::string> names;
    for (const Member& other : whole.type->members) names.push_back(other.name);
    emitter_.Fail(expression.position, whole.type->name + " has no member \"" + expression.text + "\"" +
                                           NearestNames(expression.text, std::move(names)));
    return {};
  }
  return {member->type, whole.offset + static_cast<int64_t>(member->offset)};
}

ValueCompiler::Location ValueCompiler::Locate(const Expression& expression, uint8_t to) {
  const Expression& inner = *expression.parts[0];
  if (expression.kind == Kind::kField) {
    Location whole = Pointee(inner, to);
    return MemberOf(expression, std::move(whole));
  }
  Location whole = Pointee(inner, to);
  if (emitter_.failed() || expression.kind == Kind::kPointee) return whole;
  if (whole.type->kind == Type::Kind::kArray) whole.type = whole.type->inner;
  whole.type = names_.types.Complete(whole.type);
  if (whole.type->size == 0) {
    emitter_.Fail(expression.position, "the size of " + whole.type->name + " is unknown");
    return {};
  }
  const Expression& index = *expression.parts[1];
  const auto size = static_cast<int64_t>(whole.type->size);
  if (index.kind == Kind::kNumber && index.number < (1 << 20)) {
    whole.offset += static_cast<int64_t>(index.number) * size;
    return whole;
  }
  const uint8_t at = emitter_.Register(index.position, size_t{to} + 1);
  CompileNumber(index, at, "an index");
  const uint8_t width = emitter_.Register(index.position, size_t{to} + 2);
  emitter_.SetInt(index.position, width, size);
  emitter_.Emit(index.position, {.code = OperationCode::kMultiply, .to = at, .a = at, .b = width});
  emitter_.Emit(index.position, {.code = OperationCode::kAdd, .to = to, .a = to, .b = at});
  return whole;
}

Value ValueCompiler::Load(Position position, const Location& location, uint8_t to) {
  if (emitter_.failed()) return {};
  const Type& type = *location.type;
  const bool is_number = type.kind == Type::Kind::kInt || type.kind == Type::Kind::kPointer;
  if (type.kind == Type::Kind::kVoid || type.kind == Type::Kind::kLongDouble ||
      type.kind == Type::Kind::kNamed) {
    emitter_.Fail(position, "a value of type " + type.name + " cannot be read");
    return {};
  }
  if (location.offset > std::numeric_limits<int32_t>::max()) {
    emitter_.Fail(position, "this is too far away");
    return {};
  }
  if (is_number || type.kind == Type::Kind::kFloat) {
    const bool is_signed = type.kind == Type::Kind::kInt && type.is_signed && type.size < 8;
    emitter_.Emit(position, {.code = is_number ? OperationCode::kLoad : OperationCode::kLoadFloat,
                             .to = to,
                             .a = to,
                             .b = static_cast<uint8_t>(type.size | (is_signed ? 0x80 : 0)),
                             .number = static_cast<int32_t>(location.offset)});
  } else {
    Add(position, to, location.offset);  // its address
  }
  return Typed(location.type);
}

bool ValueCompiler::MemberOfArgument(const Expression& expression, uint8_t to, Value* value) {
  std::vector<const Expression*> path;
  const Expression* root = &expression;
  for (; root->kind == Kind::kField; root = root->parts[0].get()) path.push_back(root);
  if (root->kind != Kind::kName || path.empty() || !names_.signature.has_value() ||
      names_.variables.contains(root->text)) {
    return false;
  }
  const std::vector<Parameter>& parameters = names_.signature->parameters;
  const auto found = std::ranges::find(parameters, root->text, &Parameter::name);
  const bool is_result = found == parameters.end() && root->text == "returned" &&
                         names_.signature->result != nullptr && !names_.arguments.is_result_in_memory;
  if (found == parameters.end() && !is_result) return false;
  const TypePointer& type = is_result ? names_.signature->result : found->type;
  if (type->kind != Type::Kind::kStruct) return false;
  const auto& pieces = is_result
                           ? names_.arguments.result
                           : names_.arguments.parameters[static_cast<size_t>(found - parameters.begin())];
  Location location{type, 0};
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    if (location.type->kind != Type::Kind::kStruct) return false;  // a pointer in it
    location = MemberOf(**step, location);
    if (emitter_.failed()) return true;
  }
  const Position position = expression.position;
  const auto piece_index = static_cast<size_t>(location.offset / 8);
  const auto shift = static_cast<uint8_t>(location.offset % 8 * 8);
  if (location.type->size > 8 || location.type->size == 0 || location.type->kind == Type::Kind::kStruct ||
      piece_index >= pieces.size()) {
    emitter_.Fail(position, "\"" + expression.source + "\" is no number and no text");
    return true;
  }
  if (shift == 0) {
    *value = Piece(position, pieces[piece_index], location.type, is_result, to);
    return true;
  }
  static const TypePointer kWord = IntType("unsigned long", 8, false);
  static const TypePointer kDouble =
      std::make_shared<Type>(Type{.kind = Type::Kind::kFloat, .name = "double", .size = 8, .alignment = 8});
  const bool is_in_vector = pieces[piece_index].kind == ArgumentPiece::Kind::kFloat;
  Piece(position, pieces[piece_index], is_in_vector ? kDouble : kWord, is_result, to);
  if (is_in_vector) emitter_.Emit(position, {.code = OperationCode::kToBits, .to = to, .a = to});
  const uint8_t bits = emitter_.Register(position, size_t{to} + 1);
  emitter_.SetInt(position, bits, shift);
  emitter_.Emit(position, {.code = OperationCode::kShiftRightUnsigned, .to = to, .a = to, .b = bits});
  const auto size = static_cast<uint8_t>(location.type->size);
  const bool is_float = location.type->kind == Type::Kind::kFloat;
  const auto widened = static_cast<uint8_t>(size | (location.type->is_signed && !is_float ? 0x80 : 0));
  emitter_.Emit(position, {.code = is_float ? OperationCode::kFromBits : OperationCode::kWiden,
                           .to = to,
                           .a = to,
                           .b = is_float ? size : widened});
  *value = Typed(location.type);
  return true;
}

Value ValueCompiler::InMemory(const Expression& expression, uint8_t to) {
  Value value;
  if (expression.kind == Kind::kField && MemberOfArgument(expression, to, &value)) return value;
  const Location location = Locate(expression, to);
  return Load(expression.position, location, to);
}

Value ValueCompiler::Stored(Position position, Value value, size_t to) {
  if (value.c_type == nullptr || emitter_.failed()) return value;
  const auto in = static_cast<uint8_t>(to);
  const Type& type = *value.c_type;
  const bool is_text_inside = type.kind == Type::Kind::kArray && type.inner->is_char;
  const bool is_pointer_to_string =
      type.kind == Type::Kind::kPointer && type.inner->kind == Type::Kind::kStdString;
  const bool is_std_string = type.kind == Type::Kind::kStdString || is_pointer_to_string;
  if (!IsCString(type) && !is_text_inside && !is_std_string) return value;
  if (is_std_string) {  // its first member is the address of its text
    emitter_.Emit(
        position,
        {.code = OperationCode::kLoad, .to = in, .a = in, .b = static_cast<uint8_t>(ReadSize::kU8)});
  }
  emitter_.Emit(position, {.code = OperationCode::kAsText, .to = in, .a = in});
  const uint64_t inside = is_text_inside ? std::min<uint64_t>(type.size, kMaxTextBytes) : 0;
  return {.type = RegisterType::kText, .shown = Shown::kText, .width = static_cast<uint16_t>(inside)};
}

}  // namespace lagwatch::probe
