// SPDX-License-Identifier: Apache-2.0
// The names of functions, which Lua's functions have not: as Lua itself does (ldebug.c), the names are taken
// from the instructions that call them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stack/interpreters/lua/layout.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::lua {

// The size of what is read of a Proto.
inline constexpr size_t kPrototypeBytes = 128;

// A function as its Proto describes it.
struct Prototype {
  std::array<uint8_t, kPrototypeBytes> bytes;
  uint64_t code;
  int32_t code_count;
  int32_t first_line;  // 0: the function is a whole file
};

// Reads a text of Lua's into `text`, cut to fit: from its beginning or, where `keeps_end`, up to its end.
// Returns its size; 0 if there is none. The text is made printable.
size_t ReadText(Memory* memory, const LuaLayout& layout, uint64_t address, std::span<char> text,
                bool keeps_end = false);

// Context: watchdog; not thread-safe. Large: not for the stack.
class FunctionNames {
 public:
  // The name of the function that the instruction of that index calls, in `caller`; empty if there is none.
  // Valid until the next call.
  std::string_view NameOfCallee(Memory* memory, const LuaLayout& layout, const Prototype& caller,
                                int32_t index);

 private:
  static constexpr int32_t kMostInstructions = 512;  // that are looked at, before the call
  static constexpr int32_t kMostLocals = 128;

  // As it was read; the caller has checked the index.
  uint32_t InstructionAt(int32_t index) const { return instructions_[static_cast<size_t>(index - first_)]; }
  std::string_view NameOfRegister(uint32_t number, int32_t index);
  // The index of the instruction before `end` that has set the register; -1 if it depends.
  int32_t FindSetter(uint32_t number, int32_t end) const;
  std::string_view NameOfLocal(uint32_t number, int32_t index);
  std::string_view NameOfUpvalue(uint32_t number);
  std::string_view NameOfConstant(uint32_t number);
  std::string_view NameOfMetamethod(uint32_t instruction) const;
  std::string_view Read(uint64_t text);

  uint32_t OpcodeOf(uint32_t instruction) const;
  uint32_t OperandA(uint32_t instruction) const;
  uint32_t OperandB(uint32_t instruction) const;
  uint32_t OperandC(uint32_t instruction) const;
  // The index that a jump at that index leads to.
  int32_t TargetOf(uint32_t jump, int32_t index) const;

  Memory* memory_ = nullptr;
  const LuaLayout* layout_ = nullptr;
  const Prototype* caller_ = nullptr;
  int32_t first_ = 0;  // the index of instructions_[0] in the caller
  std::array<uint32_t, kMostInstructions> instructions_;
  std::array<uint8_t, 16 * kMostLocals> locals_;
  std::array<char, 256> name_;
};

}  // namespace lagwatch::stack::lua
