// SPDX-License-Identifier: Apache-2.0
// The facts of an ELF file, without its symbols. Context: background. Not for hostile files outside of the
// worker (collector/symbols/worker).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "collector/symbols/elf/elf_handles.h"

namespace lagwatch::collector {

struct ElfFacts {
  std::string build_id;      // raw bytes; empty when it has none
  std::string alt_build_id;  // of the file that dwz put common parts into; empty when there is none
  bool has_code = false;     // else it is a debug file, split from its executable
  bool has_dwarf = false;    // .debug_info
  bool has_symbols = false;  // .symtab, or one in .gnu_debugdata
};

// Borrows `fd`. Errors: kInvalid when it is not a 64-bit ELF or Mach-O file.
base::Result<ElfFacts> ReadElfFacts(int fd);

// The name of a section; empty when it has none.
std::string_view SectionName(Elf* elf, Elf_Scn* section);

}  // namespace lagwatch::collector
