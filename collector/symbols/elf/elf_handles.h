// SPDX-License-Identifier: Apache-2.0
// Owners of elfutils' handles. Context: background.
#pragma once

#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstdint>
#include <list>
#include <memory>

#include "collector/symbols/elf/macho_image.h"

namespace lagwatch::collector {

// Sections compressed by zstd, which elfutils reads from version 0.189 on only.
inline constexpr uint32_t kCompressedByZstd = 2;  // ELFCOMPRESS_ZSTD, which older headers lack

// Memory that an ELF handle's sections are read from.
using UnpackedSections = std::list<std::unique_ptr<char[]>>;

// Decompresses all sections of `elf` that zstd compressed, in its memory alone, so that elfutils finds plain
// ones; at most 1 GiB in total. A section that is damaged or beyond that stays as it is. `elf` was opened
// with ELF_C_READ_MMAP; the returned memory must outlive it. Null if no section was decompressed.
std::shared_ptr<UnpackedSections> UnpackZstdSections(Elf* elf);

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
