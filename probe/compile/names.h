// SPDX-License-Identifier: Apache-2.0
// The values that a name can stand for in a probe. Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probe/hit.h"
#include "probe/operation.h"
#include "probe/program.h"
#include "probe/types/calling_convention.h"
#include "probe/types/declared_types.h"

namespace lagwatch::probe {

// A value in a register.
struct Value {
  RegisterType type = RegisterType::kInt;
  Shown shown = Shown::kNumber;
  bool is_unsigned = false;  // of 64 bits
  TypePointer c_type{};      // if there is one; of a struct the register has the address
  uint16_t width = 0;        // of a text, if the script says so
};

// Whether it is a string of C or C++, whose address the register has.
inline bool IsTextAddress(const Value& value) {
  return value.c_type != nullptr &&
         (value.c_type->kind == Type::Kind::kStdString || IsCString(*value.c_type));
}

// A built-in value.
struct HitValueRow {
  HitValue value;
  const char* name;
  Shown shown;
  Places places;
};
// By its name, if the place has it.
const HitValueRow* FindHitValue(std::string_view name, PlaceKind place);
// The kinds of places that have it, for messages: "@return, @error"; empty if there is no such value.
std::string PlacesOfValue(std::string_view name);
// All of the place, for messages.
std::vector<std::string> HitValueNames(PlaceKind place);

struct Variable {
  uint8_t in = 0;  // the register
  Value value;
};

// Names of one probe, with the place's types.
struct Names {
  const DeclaredTypes& types;
  const Place& place;
  std::optional<Signature> signature;
  ArgumentPlaces arguments;  // of the signature
  std::map<std::string, Variable, std::less<>> variables;
};

}  // namespace lagwatch::probe
