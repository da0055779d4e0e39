// SPDX-License-Identifier: Apache-2.0
// The functions that ELF symbol tables name. Borrows the ELF files that its tables are from, which must
// outlive it. Context: background. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "collector/symbols/elf/elf_handles.h"
#include "collector/symbols/elf/interval_map.h"

namespace lagwatch::collector {

class FunctionSymbols {
 public:
  // Adds what the section table of `elf` has of `type` (SHT_SYMTAB, SHT_DYNSYM); false when there is none.
  bool AddTable(Elf* elf, uint32_t type);
  // Adds the symbol table of the small ELF file that distributions put into stripped programs
  // (.gnu_debugdata, xz; at most 64 MiB unpacked).
  bool AddMiniDebugInfo(Elf* elf);
  // To be called once, after the last table.
  void Sort() { functions_.Sort(); }

  // The name of the function around an offset, without its version. By the same rules as the client's
  // (stack/local_symbols): sized symbols before others, global before local before weak.
  // Empty when there is none.
  std::string NameAt(uint64_t offset) const;

 private:
  IntervalMap<std::string_view> functions_;
  std::string unpacked_;  // what mini_ is read from
  ElfHandle mini_;
};

}  // namespace lagwatch::collector
