// SPDX-License-Identifier: Apache-2.0
#include "stack/elf/elf_headers.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "stack/elf/build_id_note.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kMaxProgramHeaders = 64;

}  // namespace

bool ReadElfHeaders(const base::Process& process, uint64_t base, ElfHeaders* headers) {
  const auto read = [&](uint64_t address, void* destination, size_t size_bytes) {
    return process.Read(address, destination, size_bytes) == size_bytes;
  };
  *headers = {};
  ElfW(Ehdr) elf;
  if (!process.ReadValue(base, &elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (elf.e_phentsize != sizeof(ElfW(Phdr))) return false;
  ElfW(Phdr) segments[kMaxProgramHeaders];
  size_t count = std::min<size_t>(elf.e_phnum, kMaxProgramHeaders);
  if (!read(base + elf.e_phoff, segments, count * sizeof segments[0])) return false;
  const auto* first_load =
      std::find_if(segments, segments + count, [](const auto& segment) { return segment.p_type == PT_LOAD; });
  if (first_load == segments + count) return false;
  // `base` is where the file's first byte is mapped, which the first loaded segment holds.
  headers->load_bias = base - (first_load->p_vaddr - first_load->p_offset);
  for (size_t i = 0; i < count; ++i) {
    uint64_t address = headers->load_bias + segments[i].p_vaddr;
    if (segments[i].p_type == PT_LOAD)
      headers->end = std::max<uint64_t>(headers->end, address + segments[i].p_memsz);
    const bool is_code = segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) != 0;
    if (is_code && headers->code_segment_count < ElfHeaders::kMaxCodeSegments) {
      headers->code_segments[headers->code_segment_count++] = {segments[i].p_offset, segments[i].p_filesz,
                                                               segments[i].p_vaddr};
    } else if (segments[i].p_type == PT_GNU_EH_FRAME) {
      headers->eh_frame_hdr = address;
    } else if (segments[i].p_type == PT_NOTE && headers->build_id == 0) {
      auto note = FindBuildIdNote(address, segments[i].p_memsz, read);
      if (!note) continue;
      headers->build_id = note->place;
      headers->build_id_size_bytes = note->size_bytes;
    }
  }
  return true;
}

}  // namespace lagwatch::stack
