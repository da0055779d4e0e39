// SPDX-License-Identifier: Apache-2.0
// The functions of LuaJIT, their lines, and their names, which are taken from the instructions that call
// them, as LuaJIT itself does (lj_debug.c).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stack/interpreters/luajit/layout.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::luajit {

// A function as its GCproto describes it.
struct Prototype {
  std::array<uint8_t, kPrototypeBytes> bytes;
  uint64_t address;
  int32_t code_count;
  int32_t first_line;  // 0: the function is a whole file

  uint64_t code() const { return address + kPrototypeBytes; }
  // The index of the instruction before `next`; -1 if that is not in the function's code.
  int32_t IndexBefore(uint64_t next) const;
};

// False if there is none at `address`.
bool ReadPrototype(Memory* memory, uint64_t address, Prototype* prototype);
// 0 if it is not known.
uint32_t ReadLine(Memory* memory, const Prototype& prototype, int32_t index);
// Reads a text of Lua's into `text`, cut to fit: from its beginning or, where `keeps_end`, up to its end.
// Returns its size; 0 if there is none. The text is made printable.
size_t ReadText(Memory* memory, uint64_t address, std::span<char> text, bool keeps_end = false);

// Context: watchdog; not thread-safe. Large: not for the stack.
class FunctionNames {
 public:
  // The name of the function that the instruction of that index calls, in `caller`; empty if there is none.
  // Valid until the next call.
  std::string_view NameOfCallee(Memory* memory, const Prototype& caller, int32_t index);
  // The index of the loop, or of the function's begin, that trace `number` was compiled from; -1: none in
  // `function`.
  int32_t FindLoop(Memory* memory, const Prototype& function, uint32_t number);

 private:
  static constexpr int32_t kMostInstructions = 1024;  // that are looked at
  static constexpr size_t kMostNameBytes = 2048;

  bool ReadInstructions(const Prototype& function, int32_t first, int32_t count);
  uint32_t InstructionAt(int32_t index) const { return instructions_[static_cast<size_t>(index - first_)]; }
  std::string_view NameOfSlot(uint32_t slot, int32_t index);
  std::string_view NameOfLocal(uint32_t slot, int32_t index);
  std::string_view NameOfUpvalue(uint32_t number);
  std::string_view NameOfConstant(uint32_t number);
  // The names that follow the function's code, from the address that the member at `offset` has.
  std::span<const uint8_t> ReadNames(size_t offset);

  Memory* memory_ = nullptr;
  const Prototype* caller_ = nullptr;
  int32_t first_ = 0;  // the index of instructions_[0]
  std::array<uint32_t, kMostInstructions> instructions_;
  std::array<uint8_t, kMostNameBytes> names_;
  std::array<char, 256> name_;
};

}  // namespace lagwatch::stack::luajit
