// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stack/module_map.h"
#include "stack/raw_stack.h"
#include "stack/stack.h"

namespace lagwatch::stack {

// Turns a caught thread into frames. An unknown register is never guessed: where it is needed, the stack ends
// as kIncomplete. Context: watchdog; not thread-safe.
class Unwinder {
 public:
  virtual ~Unwinder() = default;

  // `modules` must be as fresh as `raw`. Always yields at least the innermost frame.
  virtual void Unwind(const RawStack& raw, const ModuleMap& modules, Stack* stack) = 0;

  // To be called when code was loaded or unloaded: forgets what was cached of the modules.
  virtual void OnModulesChanged() = 0;
};

}  // namespace lagwatch::stack
