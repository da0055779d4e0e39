// SPDX-License-Identifier: Apache-2.0
// The rule for a frame's caller: the part of DWARF's call frame information (DWARF 5, section 6.4) that a
// walk needs, which is the frame's begin (CFA), the caller's program counter and its frame pointer. Context:
// any (plain data).
#pragma once

#include <cstdint>

namespace lagwatch::stack {

struct UnwindRule {
  enum class Cfa : uint8_t {
    kNone,          // nothing is known of this code
    kStackPointer,  // the register's value plus cfa_offset
    kFramePointer,
    kRegister,    // `cfa_register`
    kExpression,  // a DWARF expression, at cfa_offset in the module
  };
  // The place of the caller's value of a register.
  enum class Saved : uint8_t {
    kSame,        // still in the register
    kAtCfa,       // in memory, at the CFA plus the offset
    kExpression,  // in memory, where the DWARF expression at the offset in the module says
    kInRegister,  // of the return address alone: in the register of the number that the offset is
    kUndefined,   // lost; for the return address: there is no caller
  };

  Cfa cfa = Cfa::kNone;
  uint8_t cfa_register = 0;
  Saved frame_pointer = Saved::kSame;
  Saved base_pointer = Saved::kSame;
  Saved return_address : 6 = Saved::kSame;
  uint8_t is_signal_frame : 1 = 0;
  uint8_t is_return_address_signed : 1 = 0;  // arm64 pointer authentication
  int32_t cfa_offset = 0;
  int32_t frame_pointer_offset = 0;
  int32_t base_pointer_offset = 0;
  int32_t return_address_offset = 0;

  bool operator==(const UnwindRule&) const = default;
};

// The rule of a place in a module; offsets are in the module's own address space.
struct FoundRule {
  UnwindRule rule;
  uint64_t function_offset = 0;
};

}  // namespace lagwatch::stack
