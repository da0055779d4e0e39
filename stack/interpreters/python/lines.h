// SPDX-License-Identifier: Apache-2.0
// The line of an instruction, from a code object's table. Source: CPython, Objects/lnotab_notes.txt,
// Objects/locations.md. Context: any; pure.
#pragma once

#include <cstdint>
#include <span>

#include "stack/interpreters/python/layout.h"

namespace lagwatch::stack::python {

// `instruction` is an offset in bytes into the code. Returns 0 where the table names no line. Any bytes may
// be given: they may have been changed while they were read.
uint32_t LineOf(LineTable kind, std::span<const uint8_t> table, uint32_t first_line, uint32_t instruction);

}  // namespace lagwatch::stack::python
