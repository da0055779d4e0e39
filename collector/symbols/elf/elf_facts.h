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
  bool is_readable = false;  // it has DWARF that can be read
  std::string note;          // the part of its debug information that cannot be read, and why; empty: none

  // Whether functions can be named by it.
  bool has_names() const { return is_readable || has_symbols; }
  // The reason that none can, for a person; empty if they can.
  std::string WhyNoNames() const;
};

// Borrows `fd`. Errors: kInvalid when it is not a 64-bit ELF or Mach-O file.
base::Result<ElfFacts> ReadElfFacts(int fd);
// The same of an open file.
ElfFacts ReadElfFacts(Elf* elf);

// The name of a section; empty when it has none.
std::string_view SectionName(Elf* elf, Elf_Scn* section);

}  // namespace lagwatch::collector
