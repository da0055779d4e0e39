// SPDX-License-Identifier: Apache-2.0
#include "stack/elf_headers.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "base/safe_memory.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kMaxProgramHeaders = 64;

void FindBuildId(uint64_t notes, uint64_t size_bytes, ElfHeaders* headers) {
  uint64_t end = notes + size_bytes;
  auto aligned = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  while (notes + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    char name[4];
    if (!base::ReadOwnValue(notes, &note)) return;
    uint64_t name_address = notes + sizeof note;
    uint64_t description = name_address + aligned(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof name &&
        base::ReadOwnValue(name_address, &name) && std::memcmp(name, "GNU", sizeof name) == 0 &&
        description + note.n_descsz <= end) {
      headers->build_id = description;
      headers->build_id_size_bytes = note.n_descsz;
      return;
    }
    notes = description + aligned(note.n_descsz);
  }
}

}  // namespace

bool ReadElfHeaders(uint64_t base, ElfHeaders* headers) {
  *headers = {};
  ElfW(Ehdr) elf;
  if (!base::ReadOwnValue(base, &elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (elf.e_phentsize != sizeof(ElfW(Phdr))) return false;
  ElfW(Phdr) segments[kMaxProgramHeaders];
  size_t count = std::min<size_t>(elf.e_phnum, kMaxProgramHeaders);
  if (base::ReadOwnMemory(base + elf.e_phoff, segments, count * sizeof segments[0]) !=
      count * sizeof segments[0]) {
    return false;
  }
  const auto* first_load =
      std::find_if(segments, segments + count, [](const auto& segment) { return segment.p_type == PT_LOAD; });
  if (first_load == segments + count) return false;
  // `base` is where the file's first byte is mapped, which the first loaded segment holds.
  headers->load_bias = base - (first_load->p_vaddr - first_load->p_offset);
  for (size_t i = 0; i < count; ++i) {
    uint64_t address = headers->load_bias + segments[i].p_vaddr;
    if (segments[i].p_type == PT_GNU_EH_FRAME) {
      headers->eh_frame_hdr = address;
    } else if (segments[i].p_type == PT_NOTE && headers->build_id == 0) {
      FindBuildId(address, segments[i].p_memsz, headers);
    }
  }
  return true;
}

}  // namespace lagwatch::stack
