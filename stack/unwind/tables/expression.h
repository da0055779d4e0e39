// SPDX-License-Identifier: Apache-2.0
// The part of DWARF's expressions (DWARF 5, section 2.5) that call frame information is written in:
// arithmetic over registers and memory, no calls. Context: watchdog.
#pragma once

#include <cstdint>

#include "stack/unwind/tables/byte_cursor.h"

namespace lagwatch::stack {

// The inputs of an expression. False means that a value is unknown.
class ExpressionInput {
 public:
  virtual ~ExpressionInput() = default;
  virtual bool ReadRegister(uint64_t dwarf_register, uint64_t* value) = 0;
  virtual bool ReadWord(uint64_t address, uint64_t* word) = 0;
};

// Evaluates `expression` with `initial` on the stack, or with an empty one when that is null. False when it
// needs something unknown or unsupported.
bool EvaluateExpression(const ByteView& expression, const uint64_t* initial, ExpressionInput* input,
                        uint64_t* result);

}  // namespace lagwatch::stack
