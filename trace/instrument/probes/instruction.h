// SPDX-License-Identifier: Apache-2.0
// Machine instructions, as far as it takes to move a function's first one and to find branches to it. One
// file per processor. Context: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::trace {

struct Instruction {
  enum class Kind : uint8_t {
    kPlain,            // goes on with the next one
    kJump,             // to `target`
    kConditionalJump,  // to `target`, or the next one
    kCountedJump,      // the same, with a reach of 127 bytes only
    kCall,             // to `target`
    kIndirectCall,
    kIndirectJump,  // goes on elsewhere, as do these:
    kReturn,
    kOther,  // its effect depends on where it is, or is the system's
  };
  Kind kind = Kind::kOther;
  uint8_t size_bytes = 0;           // 0: unknown
  uint8_t opcode_at = 0;            // offset of the (last) opcode byte
  uint8_t relative_operand_at = 0;  // offset of the 32-bit displacement from its end to its operand; 0: none
  uint64_t target = 0;              // of a direct branch
};

// Code in this process's memory.
inline const unsigned char* CodeAt(uint64_t address) {
  return reinterpret_cast<const unsigned char*>(address);
}

// Decodes the instruction at `code`, which runs at `address`.
Instruction DecodeInstruction(const unsigned char* code, size_t available_bytes, uint64_t address);

// The most that MoveInstruction() writes.
inline constexpr size_t kMaxMovedBytes = 40;

// Writes code to `moved` that, run at `moved_address`, does the same as `code` at `address`, and continues
// behind it there. Returns its size; 0 if that is not possible.
size_t MoveInstruction(const unsigned char* code, const Instruction& instruction, uint64_t address,
                       uint64_t moved_address, unsigned char moved[kMaxMovedBytes]);

// The same for a direct call, which puts the address behind `address` on the stack, as at its place. Not for
// a function's first instruction: that may call what counts calls.
size_t MoveCall(const Instruction& instruction, uint64_t address, uint64_t moved_address,
                unsigned char moved[kMaxMovedBytes]);

}  // namespace lagwatch::trace
