// SPDX-License-Identifier: Apache-2.0
// The places of arguments and of the returned value when a function is entered or left, by the System V ABI
// for x86-64 (section 3.2.3 of its document). Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "probe/types/type.h"

namespace lagwatch::probe {

// 8 bytes of a value.
struct ArgumentPiece {
  enum class Kind : uint8_t { kInt, kFloat, kStack };
  Kind kind = Kind::kInt;
  uint32_t index = 0;  // of the register of its kind, or of the word on the stack

  friend bool operator==(const ArgumentPiece&, const ArgumentPiece&) = default;
};

struct ArgumentPlaces {
  std::vector<std::vector<ArgumentPiece>> parameters;  // of each, its pieces of 8 bytes
  std::vector<ArgumentPiece> result;                   // empty: nothing, or in memory,
  bool is_result_in_memory = false;                    // whose address is the first piece of kind kInt
};

// kInvalid, with the name of the parameter, if one has a type that is passed in no known way.
Result<ArgumentPlaces> PlacesOf(const Signature& signature);

}  // namespace lagwatch::probe
