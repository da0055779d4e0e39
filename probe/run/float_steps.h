// SPDX-License-Identifier: Apache-2.0
// The operations that take floating-point numbers, apart from the others: hits run with the program's values
// in the vector registers, so all else is built without these (see CMakeLists.txt), and only these pay for
// keeping them. Context: signal, hot.
#pragma once

#include <cstdint>

#include "probe/operation.h"
#include "probe/run/frame.h"

namespace lagwatch::probe {

constexpr bool TakesFloats(Operand to, Operand a, Operand b) {
  return to == Operand::kFloat || a == Operand::kFloat || b == Operand::kFloat;
}

// Runs an operation of which TakesFloats() is true, and returns the one to go on with. Keeps the vector
// registers and MXCSR, and calculates with the processor's initial MXCSR: with no traps.
const Operation* RunFloatStep(Frame& frame, const Operation& operation, const Operation* next);

// Adds `weight` times the double of these bits to the double in the word; false if other threads foil it.
// Keeps the registers likewise.
bool AddFloatTo(Word& word, uint64_t bits, uint64_t weight);

}  // namespace lagwatch::probe
