// SPDX-License-Identifier: Apache-2.0
// The operations that take floating-point numbers, apart from the others (float_call.h). Context: signal,
// hot.
#pragma once

#include <cstdint>

#include "probe/operation.h"
#include "probe/run/frame.h"

namespace lagwatch::probe {

constexpr bool TakesFloats(Operand to, Operand a, Operand b) {
  return to == Operand::kFloat || a == Operand::kFloat || b == Operand::kFloat;
}

// Runs an operation of which TakesFloats() is true by CallWithFloats(), and returns the one to go on with.
const Operation* RunFloatStep(Frame& frame, const Operation& operation, const Operation* next);

}  // namespace lagwatch::probe
