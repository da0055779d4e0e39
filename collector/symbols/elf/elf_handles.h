// SPDX-License-Identifier: Apache-2.0
// Owners of elfutils' handles. Context: background.
#pragma once

#include <elfutils/libdw.h>
#include <gelf.h>

#include <memory>

#include "collector/symbols/elf/macho_image.h"
#include "collector/symbols/elf/zstd_sections.h"

namespace lagwatch::collector {

struct EndElf {
  std::shared_ptr<MachOImage> image = {};           // that the handle reads, of a Mach-O file
  std::shared_ptr<UnpackedSections> sections = {};  // likewise, of a file with sections compressed by zstd

  void operator()(Elf* elf) const { elf_end(elf); }
};
struct EndDwarf {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};

using ElfHandle = std::unique_ptr<Elf, EndElf>;
using DwarfHandle = std::unique_ptr<Dwarf, EndDwarf>;

// Borrows `fd`, which must stay open as long as the handle. Null when it is not a 64-bit ELF or Mach-O file.
// Sections that zstd compressed are decompressed already.
ElfHandle OpenElf(int fd);

}  // namespace lagwatch::collector
