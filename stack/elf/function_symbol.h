// SPDX-License-Identifier: Apache-2.0
// Symbols that name functions, and their order where several name one address. Context: any.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string_view>

namespace lagwatch::stack {

// Names the frame between a signal's handler and what it interrupted, as gdb does.
inline constexpr char kSignalFrameName[] = "<signal handler called>";

// The code that handlers of signals return to, in C libraries without its symbol: the number of sigreturn(2),
// and the system call.
inline constexpr std::string_view kSignalReturnX86("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
inline constexpr std::string_view kSignalReturnArm("\x68\x11\x80\xd2\x01\0\0\xd4", 8);

inline bool IsDefinedFunction(const Elf64_Sym& symbol) {
  const int type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF;
}

// Of several at one address the one with the lowest is taken: global before local before weak, and any with a
// size first.
inline uint8_t RankOf(const Elf64_Sym& symbol) {
  constexpr uint8_t kSizeUnknown = 3;
  const uint8_t rank = symbol.st_size == 0 ? kSizeUnknown : 0;
  switch (ELF64_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
      return rank;
    case STB_LOCAL:
      return rank + 1;
    default:
      return rank + 2;
  }
}

// A symbol's version is no part of its name.
inline std::string_view WithoutVersion(std::string_view name) { return name.substr(0, name.find('@', 1)); }

}  // namespace lagwatch::stack
