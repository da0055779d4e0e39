// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/elf/elf_facts.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>

#include <cstring>

namespace lagwatch::collector {
namespace {

bool HasBytes(const GElf_Shdr& header) { return header.sh_type != SHT_NOBITS && header.sh_size != 0; }

// The reason that a section cannot be decompressed; empty if it can, or is not compressed.
std::string CompressionProblem(Elf_Scn* section, const GElf_Shdr& header) {
  Elf64_Chdr compression;
  Elf_Data* data = (header.sh_flags & SHF_COMPRESSED) != 0 ? elf_rawdata(section, nullptr) : nullptr;
  if (data == nullptr || data->d_buf == nullptr || data->d_size < sizeof compression) return "";
  std::memcpy(&compression, data->d_buf, sizeof compression);
  if (compression.ch_type == ELFCOMPRESS_ZLIB) return "";
  const std::string advice = "; `objcopy --decompress-debug-sections` makes a file that can be";
  // Those that could be were decompressed when the file was opened.
  if (compression.ch_type == kCompressedByZstd)
    return "its debug information, compressed by zstd, is damaged or larger than 1 GiB" + advice;
  return "its debug information is compressed in a way that cannot be read (type " +
         std::to_string(compression.ch_type) + ")" + advice;
}

void LookAtSection(std::string_view name, Elf_Scn* section, const GElf_Shdr& header, ElfFacts* facts) {
  if ((header.sh_flags & SHF_EXECINSTR) != 0) facts->has_code |= HasBytes(header);
  if (!HasBytes(header)) return;
  facts->has_dwarf |= name == ".debug_info" || name == ".zdebug_info";
  facts->has_symbols |= header.sh_type == SHT_SYMTAB || name == ".gnu_debugdata";
  if (facts->note.empty() && name.starts_with(".debug_")) facts->note = CompressionProblem(section, header);
}

std::string AltBuildId(Dwarf* dwarf) {
  const char* name = nullptr;
  const void* build_id = nullptr;
  const ssize_t size_bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id);
  return size_bytes > 0 ? std::string(static_cast<const char*>(build_id), static_cast<size_t>(size_bytes))
                        : std::string();
}

void LookAtDwarf(Elf* elf, ElfFacts* facts) {
  const DwarfHandle dwarf(dwarf_begin_elf(elf, DWARF_C_READ, nullptr));
  if (dwarf) facts->alt_build_id = AltBuildId(dwarf.get());
  Dwarf_CU* unit = nullptr;
  uint8_t type = 0;
  bool is_split = false;
  int got = -1;
  while (dwarf && (got = dwarf_get_units(dwarf.get(), unit, &unit, nullptr, &type, nullptr, nullptr)) == 0) {
    facts->is_readable = true;
    is_split |= type == DW_UT_skeleton;
  }
  if (!facts->note.empty()) return;
  if (got < 0) facts->note = std::string("its debug information cannot be read: ") + dwarf_errmsg(-1);
  if (is_split)
    facts->note =
        "its debug information is split: .dwo and .dwp files cannot be uploaded, so functions have lines, "
        "but "
        "no inlined calls; to have those build it without -gsplit-dwarf";
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
  if (!is_usable) return nullptr;
  elf.get_deleter().sections = UnpackZstdSections(elf.get());
  return elf;
}

std::string_view SectionName(Elf* elf, Elf_Scn* section) {
  GElf_Shdr header;
  size_t names = 0;
  if (gelf_getshdr(section, &header) == nullptr || elf_getshdrstrndx(elf, &names) != 0) return {};
  const char* name = elf_strptr(elf, names, header.sh_name);
  return name != nullptr ? name : "";
}

ElfFacts ReadElfFacts(Elf* elf) {
  ElfFacts facts;
  const void* build_id = nullptr;
  ssize_t size_bytes = dwelf_elf_gnu_build_id(elf, &build_id);
  if (size_bytes > 0)
    facts.build_id.assign(static_cast<const char*>(build_id), static_cast<size_t>(size_bytes));
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr)
      LookAtSection(SectionName(elf, section), section, header, &facts);
  }
  if (facts.has_dwarf) LookAtDwarf(elf, &facts);
  return facts;
}

base::Result<ElfFacts> ReadElfFacts(int fd) {
  ElfHandle elf = OpenElf(fd);
  if (!elf && IsMachO(fd)) {
    if (auto read = ReadMachO(fd); !read.ok()) return read.status();
  }
  if (!elf) return base::Status(base::StatusCode::kInvalid, "it is not a 64-bit ELF or Mach-O file");
  return ReadElfFacts(elf.get());
}

std::string ElfFacts::WhyNoNames() const {
  if (has_names()) return "";
  return note.empty() ? "it is stripped; give the unstripped file or its .debug file" : note;
}

}  // namespace lagwatch::collector
