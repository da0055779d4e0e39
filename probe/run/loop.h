// SPDX-License-Identifier: Apache-2.0
// The dispatch loop of the interpreter. Context: signal, hot.
#pragma once

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
#define OPERATION(name, ...)                    \
  case OperationCode::k##name:                  \
    next = steps::name(frame, operation, next); \
    break;
#include "probe/operations.def"
    }
  } while (next != nullptr);
}

}  // namespace lagwatch::probe
