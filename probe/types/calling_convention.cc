// SPDX-License-Identifier: Apache-2.0
#include "probe/types/calling_convention.h"

#include <array>

namespace lagwatch::probe {
namespace {

constexpr uint32_t kIntRegisters = 6;
constexpr uint32_t kFloatRegisters = 8;
constexpr uint64_t kMostBytesInRegisters = 16;

// The classes of the two eightbytes of a small value.
struct Classes {
  std::array<bool, 2> has_int{};
  bool is_in_memory = false;
};

void Classify(const Type& type, uint64_t offset, Classes* classes) {
  switch (type.kind) {
    case Type::Kind::kStruct:
      for (const Member& member : type.members) Classify(*member.type, offset + member.offset, classes);
      return;
    case Type::Kind::kArray:
      if (type.inner->size == 0) return;
      for (uint64_t at = 0; at < type.size; at += type.inner->size)
        Classify(*type.inner, offset + at, classes);
      return;
    case Type::Kind::kFloat:
      break;
    case Type::Kind::kStdString:
    case Type::Kind::kLongDouble:
      classes->is_in_memory = true;
      return;
    default:
      classes->has_int[offset / 8 % 2] = true;
  }
}

Classes ClassesOf(const Type& type) {
  Classes classes;
  classes.is_in_memory = type.size > kMostBytesInRegisters;
  if (!classes.is_in_memory) Classify(type, 0, &classes);
  return classes;
}

uint32_t PieceCount(const Type& type) { return static_cast<uint32_t>((type.size + 7) / 8); }

class Registers {
 public:
  uint32_t ints = 0;
  uint32_t floats = 0;

  // In registers if there are enough for the whole value, else on the stack.
  std::vector<ArgumentPiece> Take(const Type& type) {
    const Classes classes = ClassesOf(type);
    const uint32_t count = PieceCount(type);
    std::vector<ArgumentPiece> pieces;
    uint32_t int_at = ints;
    uint32_t float_at = floats;
    for (uint32_t i = 0; i < count && !classes.is_in_memory; ++i) {
      pieces.push_back(classes.has_int[i] ? ArgumentPiece{ArgumentPiece::Kind::kInt, int_at++}
                                          : ArgumentPiece{ArgumentPiece::Kind::kFloat, float_at++});
    }
    if (!classes.is_in_memory && int_at <= kIntRegisters && float_at <= kFloatRegisters) {
      ints = int_at;
      floats = float_at;
      return pieces;
    }
    pieces.clear();
    if (type.alignment > 8) stack_words_ += stack_words_ % 2;
    for (uint32_t i = 0; i < count; ++i) pieces.push_back({ArgumentPiece::Kind::kStack, stack_words_++});
    return pieces;
  }

 private:
  uint32_t stack_words_ = 0;
};

bool IsUnknown(const Type& type) { return type.kind == Type::Kind::kNamed || type.kind == Type::Kind::kVoid; }

}  // namespace

Result<ArgumentPlaces> PlacesOf(const Signature& signature) {
  ArgumentPlaces places;
  Registers registers;
  static const TypePointer kLong = IntType("long", 8, true);
  const Type& result = signature.result == nullptr ? *kLong : *signature.result;
  if (result.kind == Type::Kind::kNamed) {
    return Status(StatusCode::kInvalid,
                  "the size of " + result.name + ", which is returned, is unknown: declare its members");
  }
  if (result.kind == Type::Kind::kStdString || ClassesOf(result).is_in_memory) {
    places.is_result_in_memory =
        result.kind != Type::Kind::kLongDouble;  // that one is in a register of the old unit
    if (places.is_result_in_memory) registers.ints = 1;
  } else if (result.kind != Type::Kind::kVoid) {
    places.result = Registers().Take(result);
  }
  for (const Parameter& parameter : signature.parameters) {
    if (IsUnknown(*parameter.type)) {
      return Status(StatusCode::kInvalid, "the size of the parameter \"" + parameter.name +
                                              "\" is unknown: declare the members of " +
                                              parameter.type->name);
    }
    // A class that is not trivial to copy is handed over by its address.
    const bool by_address = parameter.type->kind == Type::Kind::kStdString;
    places.parameters.push_back(registers.Take(by_address ? *PointerTo(parameter.type) : *parameter.type));
  }
  return places;
}

}  // namespace lagwatch::probe
