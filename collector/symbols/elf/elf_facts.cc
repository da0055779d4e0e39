// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/elf/elf_facts.h"

#include <elfutils/libdwelf.h>

namespace lagwatch::collector {
namespace {

bool HasBytes(const GElf_Shdr& header) { return header.sh_type != SHT_NOBITS && header.sh_size != 0; }

void LookAt(std::string_view name, const GElf_Shdr& header, ElfFacts* facts) {
  if ((header.sh_flags & SHF_EXECINSTR) != 0) facts->has_code |= HasBytes(header);
  if (!HasBytes(header)) return;
  facts->has_dwarf |= name == ".debug_info" || name == ".zdebug_info";
  facts->has_symbols |= header.sh_type == SHT_SYMTAB || name == ".gnu_debugdata";
}

std::string AltBuildId(Elf* elf) {
  DwarfHandle dwarf(dwarf_begin_elf(elf, DWARF_C_READ, nullptr));
  const char* name = nullptr;
  const void* build_id = nullptr;
  ssize_t size_bytes = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf.get(), &name, &build_id) : 0;
  return size_bytes > 0 ? std::string(static_cast<const char*>(build_id), static_cast<size_t>(size_bytes))
                        : std::string();
}

ElfHandle OpenMachO(int fd) {
  auto read = ReadMachO(fd);
  if (!read.ok()) return nullptr;
  auto image = std::make_shared<MachOImage>(std::move(*read));
  Elf* elf = elf_memory(image->elf.data(), image->elf.size());
  return ElfHandle(elf, EndElf{std::move(image)});
}

}  // namespace

ElfHandle OpenElf(int fd) {
  elf_version(EV_CURRENT);
  if (IsMachO(fd)) return OpenMachO(fd);
  ElfHandle elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr));
  bool is_usable = elf && elf_kind(elf.get()) == ELF_K_ELF && gelf_getclass(elf.get()) == ELFCLASS64;
  return is_usable ? std::move(elf) : nullptr;
}

std::string_view SectionName(Elf* elf, Elf_Scn* section) {
  GElf_Shdr header;
  size_t names = 0;
  if (gelf_getshdr(section, &header) == nullptr || elf_getshdrstrndx(elf, &names) != 0) return {};
  const char* name = elf_strptr(elf, names, header.sh_name);
  return name != nullptr ? name : "";
}

base::Result<ElfFacts> ReadElfFacts(int fd) {
  ElfHandle elf = OpenElf(fd);
  if (!elf && IsMachO(fd)) {
    if (auto read = ReadMachO(fd); !read.ok()) return read.status();
  }
  if (!elf) return base::Status(base::StatusCode::kInvalid, "it is not a 64-bit ELF or Mach-O file");
  ElfFacts facts;
  const void* build_id = nullptr;
  ssize_t size_bytes = dwelf_elf_gnu_build_id(elf.get(), &build_id);
  if (size_bytes > 0)
    facts.build_id.assign(static_cast<const char*>(build_id), static_cast<size_t>(size_bytes));
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr) LookAt(SectionName(elf.get(), section), header, &facts);
  }
  if (facts.has_dwarf) facts.alt_build_id = AltBuildId(elf.get());
  return facts;
}

}  // namespace lagwatch::collector
