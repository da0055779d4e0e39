// SPDX-License-Identifier: Apache-2.0
// The places of the arguments of notes of <sys/sdt.h>, which they describe as an assembler of x86-64 does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lagwatch::sdk {

inline constexpr size_t kMaxNoteArguments = 12;

struct NoteArgument {
  enum class Kind : uint8_t {
    kUnknown,  // a vector register, a variable, or a form that is not understood
    kConstant,
    kRegister,
    kMemory,
  };
  static constexpr uint8_t kNoRegister = 16;

  Kind kind = Kind::kUnknown;
  uint8_t size = 8;  // bytes: 1, 2, 4 or 8
  bool is_signed = false;
  uint8_t shift = 0;           // kRegister: 8 for its second byte
  uint8_t base = kNoRegister;  // by DWARF's numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15
  uint8_t index = kNoRegister;
  uint8_t scale = 1;
  int64_t number = 0;  // the constant, or the distance

  // kMemory.
  uint64_t AddressWith(const uint64_t registers[16]) const;
  // The argument's bytes as a whole number of 64 bits.
  uint64_t Widen(uint64_t bits) const;
};

// At most kMaxNoteArguments. Context: background.
std::vector<NoteArgument> ParseNoteArguments(std::string_view text);

}  // namespace lagwatch::sdk
