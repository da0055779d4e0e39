// SPDX-License-Identifier: Apache-2.0
// Finds a module's build id among its notes, in memory and in a file alike.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace lagwatch::stack {

// Place and size of the build id's bytes, in the terms of the function that read the notes.
struct BuildIdNote {
  uint64_t place;
  uint32_t size_bytes;
};

// Walks the notes of `size_bytes` from `place` on, trusting none of them and looking at no more than the
// first 64. `read(place, destination, size_bytes)` copies all requested bytes, or returns false. Context:
// that of `read`; takes no memory and no lock of its own.
template <typename Read>
std::optional<BuildIdNote> FindBuildIdNote(uint64_t place, uint64_t size_bytes, Read read) {
  constexpr int kMaxNotes = 64;
  constexpr char kOwner[] = "GNU";  // with its NUL
  struct {
    Elf64_Nhdr header;
    char owner[sizeof kOwner];
  } note;
  auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  for (int i = 0; i < kMaxNotes && size_bytes >= sizeof note && read(place, &note, sizeof note); ++i) {
    uint64_t description = sizeof note.header + padded(note.header.n_namesz);
    if (description + note.header.n_descsz > size_bytes) break;
    bool is_build_id = note.header.n_type == NT_GNU_BUILD_ID && note.header.n_namesz == sizeof kOwner &&
                       std::memcmp(note.owner, kOwner, sizeof kOwner) == 0;
    if (is_build_id) return BuildIdNote{place + description, note.header.n_descsz};
    uint64_t whole = std::min(description + padded(note.header.n_descsz), size_bytes);
    place += whole;
    size_bytes -= whole;
  }
  return std::nullopt;
}

}  // namespace lagwatch::stack
