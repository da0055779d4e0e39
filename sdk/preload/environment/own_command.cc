// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/own_command.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstddef>
#include <cstring>
#include <span>

namespace lagwatch::sdk {
namespace {

bool HasCommandNote(const char* notes, size_t size_bytes, size_t alignment) {
  const CommandNote wanted;
  const auto round_up = [&](size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size_bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const size_t note_bytes = round_up(sizeof note + note.n_namesz) + round_up(note.n_descsz);
    if (note_bytes > size_bytes - at) return false;
    if (note.n_namesz == wanted.name_bytes &&
        std::memcmp(notes + at + sizeof note, wanted.name, sizeof wanted.name) == 0)
      return true;
    at += note_bytes;
  }
  return false;
}

}  // namespace

bool IsOwnCommand() {
  const auto* first = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  if (first == nullptr) return false;
  const std::span<const ElfW(Phdr)> segments(first, getauxval(AT_PHNUM));
  uintptr_t base = 0;
  for (const ElfW(Phdr) & segment : segments)
    if (segment.p_type == PT_PHDR) base = reinterpret_cast<uintptr_t>(first) - segment.p_vaddr;
  for (const ElfW(Phdr) & segment : segments) {
    const auto* notes = reinterpret_cast<const char*>(base + segment.p_vaddr);
    const size_t alignment = segment.p_align == 8 ? 8 : 4;
    if (segment.p_type == PT_NOTE && HasCommandNote(notes, segment.p_memsz, alignment)) return true;
  }
  return false;
}

}  // namespace lagwatch::sdk
