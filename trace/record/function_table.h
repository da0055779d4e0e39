// SPDX-License-Identifier: Apache-2.0
// The functions of scripts in an arena, each once.
#pragma once

#include <cstdint>

#include "base/process/mapped_array.h"
#include "stack/code/script_functions.h"
#include "trace/record/arena.h"

namespace lagwatch::trace {

// Thread safety: one thread at a time. Readers see `function_count` functions, which do not change.
class FunctionTable {
 public:
  static constexpr uint32_t kNone = 0;

  // `arena` is borrowed.
  explicit FunctionTable(Arena* arena) : arena_(arena) {}

  // The function's index plus 1; kNone, counted, if there is no room. `number` as ScriptFunctions has it.
  // Context: watchdog.
  uint32_t Find(uint64_t number, const stack::ScriptFunctions& functions);

 private:
  Arena* arena_;
  base::MappedArray<uint32_t> places_;  // by number, open addressing; taken at the first function
};

}  // namespace lagwatch::trace
