// SPDX-License-Identifier: Apache-2.0
// The places of calls and functions in LuaJIT's memory: LuaJIT 2.1 with 64-bit references (GC64). Source: the
// structures of LuaJIT's own headers (lj_obj.h, lj_frame.h, lj_bc.h). Context: any (plain data).
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::stack::luajit {

// In an object that is collected.
inline constexpr size_t kType = 9;
inline constexpr uint8_t kTextType = 4;
inline constexpr uint8_t kThreadType = 6;
inline constexpr uint8_t kPrototypeType = 7;
inline constexpr uint8_t kFunctionType = 8;
inline constexpr uint64_t kValueBytes = 8;
inline constexpr uint64_t kAddressMask = (uint64_t{1} << 47) - 1;  // of a value

// In a lua_State.
inline constexpr size_t kStateBytes = 96;
inline constexpr size_t kStatus = 11;
inline constexpr size_t kGlobal = 16;
inline constexpr size_t kBase = 32;
inline constexpr size_t kTop = 40;
inline constexpr size_t kLast = 48;
inline constexpr size_t kStack = 56;
inline constexpr size_t kInnermostCFrame = 80;

// In a function.
inline constexpr size_t kFunctionBytes = 48;
inline constexpr size_t kFunctionKind = 10;
inline constexpr uint8_t kLuaFunction = 0;
inline constexpr uint8_t kCFunction = 1;  // above: LuaJIT's own
inline constexpr size_t kFunctionCode = 32;
inline constexpr size_t kFunctionAddress = 40;  // written in C

// In a GCproto. Its instructions follow it.
inline constexpr size_t kPrototypeBytes = 104;
inline constexpr size_t kCodeCount = 12;
inline constexpr size_t kConstants = 32;  // those that are collected are before that address
inline constexpr size_t kConstantCount = 48;
inline constexpr size_t kBytes = 56;  // with all that follows it
inline constexpr size_t kUpvalueCount = 60;
inline constexpr size_t kSource = 64;
inline constexpr size_t kFirstLine = 72;
inline constexpr size_t kLineCount = 76;
inline constexpr size_t kLines = 80;
inline constexpr size_t kUpvalueNames = 88;
inline constexpr size_t kLocalNames = 96;

// In a text.
inline constexpr size_t kTextBytes = 24;   // before its characters
inline constexpr size_t kTextLength = 20;  // since 2020
inline constexpr size_t kOldTextLength = 16;

// The kinds of frames on Lua's stack, in the low bits of the word before a function's first value.
inline constexpr uint64_t kKindMask = 3;
inline constexpr uint64_t kKindAndProtectedMask = 7;
inline constexpr uint64_t kLuaFrame = 0;           // the word is the address of the caller's next instruction
inline constexpr uint64_t kCFrameOfLua = 1;        // entered from C
inline constexpr uint64_t kContinuationFrame = 2;  // of a metamethod
inline constexpr uint64_t kVariableFrame = 3;      // a copy of the frame below, for variable arguments

// Instructions.
inline constexpr uint32_t kMove = 18;
inline constexpr uint32_t kLoadNil = 44;
inline constexpr uint32_t kGetUpvalue = 45;
inline constexpr uint32_t kGetGlobal = 54;
inline constexpr uint32_t kGetField = 57;
inline constexpr uint32_t kFirstCall = 65;
inline constexpr uint32_t kCallIterator = 69;
inline constexpr uint32_t kCallNext = 70;
inline constexpr uint32_t kLastCall = 70;
inline constexpr uint32_t kCompiledLoops[] = {81, 84, 87};  // operand D is the trace's number
inline constexpr uint32_t kFirstHeader = 89;                // of functions, the smallest in any version

constexpr uint32_t OpcodeOf(uint32_t instruction) { return instruction & 0xff; }
constexpr uint32_t OperandA(uint32_t instruction) { return instruction >> 8 & 0xff; }
constexpr uint32_t OperandB(uint32_t instruction) { return instruction >> 24; }
constexpr uint32_t OperandC(uint32_t instruction) { return instruction >> 16 & 0xff; }
constexpr uint32_t OperandD(uint32_t instruction) { return instruction >> 16; }

// The frame of LuaJIT's interpreter on the C stack, which differs between processors (c_frame_*.cc). Source:
// lj_frame.h and the interpreters' sources (vm_x64.dasc, vm_arm64.dasc).
struct CFrame {
  static constexpr uint64_t kFlags = 3;  // in its address

  // Offsets in bytes.
  uint64_t previous;
  uint64_t next_instruction;  // of the function that runs, when it was left
  uint64_t state;
  uint64_t result_count;
  // The registers that it keeps for a running function, by DWARF's numbers.
  int base_register;
  int instruction_register;
};
extern const CFrame kCFrame;

}  // namespace lagwatch::stack::luajit
