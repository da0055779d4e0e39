// SPDX-License-Identifier: Apache-2.0
// Reads Mach-O files of Apple's systems (dSYM files, programs and libraries) as ELF files: their debug
// information is the same, and so is what their symbol tables say. Context: background. Not for hostile files
// outside of the worker (collector/symbols/worker).
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace lagwatch::collector {

// Whether a file's first bytes are those of a Mach-O file, also of one with several architectures.
bool IsMachO(int fd);

struct MachOImage {
  // An ELF file with the DWARF sections, the functions of the symbol table, and the UUID as its build id.
  std::string elf;
  uint64_t text_begin = 0;  // the first address of the file's own address space
};

// Borrows `fd`. Errors: kInvalid if it is damaged, not for a 64-bit processor that is known, or of several
// architectures; kTooLarge.
base::Result<MachOImage> ReadMachO(int fd);

}  // namespace lagwatch::collector
