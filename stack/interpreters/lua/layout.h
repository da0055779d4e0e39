// SPDX-License-Identifier: Apache-2.0
// The places of calls and functions in Lua's memory, by version. Source: the structures of Lua's headers
// (lstate.h, lobject.h, lopcodes.h) on 64-bit systems. Context: any (plain data).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "stack/interpreters/exported_symbols.h"

namespace lagwatch::stack::lua {

inline constexpr uint16_t kNone = UINT16_MAX;  // this version has no such member
inline constexpr uint64_t kTypeOffset = 8;     // in a collectable object
inline constexpr uint64_t kValueBytes = 16;
inline constexpr uint8_t kNoOpcode = UINT8_MAX;

// The name of the functions that a range of instructions calls without naming them.
struct Metamethod {
  uint8_t first;
  uint8_t last;
  std::string_view name;  // empty: operand C says which, in the order of Instructions::events
};

// The instructions from which the names of called functions are taken.
struct Instructions {
  uint8_t opcode_bits;
  uint8_t b_shift;
  uint8_t b_bits;
  uint8_t c_shift;
  uint8_t c_bits;
  uint16_t constant_flag;  // in an operand that is a constant or a register; 0: it is a constant
  uint8_t move;
  uint8_t load_nil;
  uint8_t get_upvalue;
  uint8_t get_global;            // 5.1
  uint8_t get_field_of_upvalue;  // since 5.2, for globals
  uint8_t get_table;
  uint8_t get_field;  // since 5.4
  uint8_t get_method;
  uint8_t jump;
  uint8_t call;
  uint8_t tail_call;
  uint8_t call_iterator;
  uint64_t sets_a[2];  // bit i: instruction i sets the register that its operand A names
  std::span<const Metamethod> metamethods;
  std::span<const std::string_view> events;

  bool SetsA(uint32_t opcode) const { return opcode < 128 && (sets_a[opcode / 64] >> opcode % 64 & 1) != 0; }
};

// Offsets in bytes.
struct LuaLayout {
  // In a lua_State.
  uint16_t status;
  uint16_t top;
  uint16_t global;
  uint16_t call;  // the innermost one
  uint16_t stack;
  uint16_t stack_last;
  uint16_t base_call;       // the outermost call, which is the C program's; 5.1: its address
  uint16_t instruction;     // of the innermost call; kNone: the call has it
  uint16_t protected_call;  // the innermost one's place on the thread's stack; 0 there: none
  uint16_t main_thread;     // in a global_State
  // In a CallInfo.
  uint16_t call_bytes;
  uint16_t function;
  uint16_t caller;  // kNone: the calls are an array
  uint16_t call_instruction;
  uint16_t call_status;
  uint16_t call_status_bytes;
  uint32_t is_tail_call;  // bits of its status
  uint32_t is_finalizer;
  // In a closure.
  uint16_t is_c;  // kNone: the value's tag has it
  uint16_t c_function;
  uint16_t prototype;
  // In a Proto.
  uint8_t prototype_type;
  uint16_t constants;
  uint16_t code;
  uint16_t code_count;
  uint16_t lines;
  uint16_t locals;
  uint16_t local_count;
  uint16_t upvalues;
  uint16_t upvalue_bytes;  // of one of them
  uint16_t source;
  uint16_t first_line;
  uint16_t anchors;  // lines that others are relative to, since 5.4; kNone: `lines` has them all
  uint16_t anchor_count;

  bool has_short_texts;  // their length is in a byte
  const Instructions* instructions;
};

// The layout of the Lua that a module exports the functions of; null if there is none that is known.
const LuaLayout* FindLayout(const ExportedSymbols& exports);
// All that are known. For tests.
std::span<const LuaLayout* const> AllLayouts();

}  // namespace lagwatch::stack::lua
