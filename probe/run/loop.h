// SPDX-License-Identifier: Apache-2.0
// The dispatch loop of the interpreter. Context: signal, hot.
#pragma once

#include "probe/run/float_steps.h"
#include "probe/run/frame.h"
#include "probe/run/steps.h"

namespace lagwatch::probe {

// Runs the frame's probe. `observe` is called with each operation before it; the tests count by it.
template <typename Observer>
inline __attribute__((always_inline)) void RunOperations(Frame& frame, Observer observe) {
  const Operation* next = frame.probe.operations().data();
  do {
    const Operation& operation = *next++;
    observe(operation);
    switch (operation.code) {
#define OPERATION(name, to, a, b, ...)                                       \
  case OperationCode::k##name:                                               \
    if constexpr (TakesFloats(Operand::k##to, Operand::k##a, Operand::k##b)) \
      next = RunFloatStep(frame, operation, next);                           \
    else                                                                     \
      next = steps::name(frame, operation, next);                            \
    break;
#include "probe/operations.def"
    }
  } while (next != nullptr);
}

}  // namespace lagwatch::probe
