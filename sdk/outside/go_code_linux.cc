// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/process/proc_file.h"
#include "sdk/outside/go_code.h"

namespace lagwatch::sdk {
namespace {

// A line of /proc/PID/maps.
struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  std::string_view file;  // its device and inode

  static bool Parse(std::string_view line, Mapping* mapping) {
    if (!base::ConsumeHex(&line, &mapping->begin) || !line.starts_with('-')) return false;
    line.remove_prefix(1);
    if (!base::ConsumeHex(&line, &mapping->end)) return false;
    constexpr size_t kPermissions = 6;  // " r-xp "
    line.remove_prefix(std::min(kPermissions, line.size()));
    if (!base::ConsumeHex(&line, &mapping->offset) || line.empty()) return false;
    line.remove_prefix(1);
    const size_t inode = line.find(' ');
    mapping->file = line.substr(0, line.find(' ', inode == std::string_view::npos ? inode : inode + 1));
    return true;
  }
};

bool HasElfMagic(const base::Process& process, uint64_t address) {
  char magic[SELFMAG];
  return process.Read(address, magic, sizeof magic) == sizeof magic &&
         std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

// The note by which Go's linker names a build: also of stripped programs.
bool HasGoNote(const base::Process& process, uint64_t address, uint64_t size_bytes) {
  constexpr size_t kMostNotes = 1024;
  alignas(4) char notes[kMostNotes];
  const size_t size = process.Read(address, notes, std::min<uint64_t>(size_bytes, kMostNotes));
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) + 4 <= size;) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes + at, sizeof note);
    constexpr uint32_t kGoBuildId = 4;
    if (note.n_namesz == 4 && note.n_type == kGoBuildId &&
        std::memcmp(notes + at + sizeof note, "Go\0\0", 4) == 0)
      return true;
    const auto padded = [](uint32_t bytes) { return (size_t{bytes} + 3) / 4 * 4; };
    at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
  }
  return false;
}

// The record that `go version` reads, within the first bytes of the data: also where a build has no name.
bool HasGoRecord(const base::Process& process, uint64_t address, uint64_t size_bytes) {
  constexpr std::string_view kMagic = "\xff Go buildinf:";
  constexpr size_t kAlignment = 16;
  constexpr uint64_t kMostBytes = 64 << 10;
  char page[4096];
  for (uint64_t at = 0; at < std::min(size_bytes, kMostBytes); at += sizeof page) {
    const size_t size = process.Read(address + at, page, sizeof page);
    for (size_t i = 0; i + kAlignment <= size; i += kAlignment)
      if (std::string_view(page + i, kMagic.size()) == kMagic) return true;
  }
  return false;
}

// Of the file whose header is loaded at `base`.
bool IsGoFile(const base::Process& process, uint64_t base) {
  Elf64_Ehdr header;
  if (!process.ReadValue(base, &header) || header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  constexpr size_t kMostSegments = 64;
  Elf64_Phdr segments[kMostSegments];
  const size_t wanted = std::min<size_t>(header.e_phnum, kMostSegments) * sizeof(Elf64_Phdr);
  const size_t count = process.Read(base + header.e_phoff, segments, wanted) / sizeof(Elf64_Phdr);
  const std::span<const Elf64_Phdr> all(segments, count);
  const auto first = std::ranges::find(all, Elf64_Word{PT_LOAD}, &Elf64_Phdr::p_type);
  if (first == all.end()) return false;
  const uint64_t bias = base - first->p_vaddr;
  return std::ranges::any_of(all, [&](const Elf64_Phdr& segment) {
    const uint64_t address = bias + segment.p_vaddr;
    const bool is_data = segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0;
    return (segment.p_type == PT_NOTE && HasGoNote(process, address, segment.p_filesz)) ||
           (is_data && HasGoRecord(process, address, segment.p_filesz));
  });
}

}  // namespace

GoCode::Known GoCode::Find(uint64_t address) const {
  char buffer[4096];
  char file[64] = {};  // of the last mapping with a header
  uint64_t base = 0;
  Known found{.begin = address, .end = address + 1, .is_go = false};
  base::ForEachLine(base::ProcessPath(process_, "maps").c_str(), buffer, [&](std::string_view line) {
    Mapping mapping;
    if (!Mapping::Parse(line, &mapping)) return true;
    if (mapping.offset == 0 && mapping.begin <= address && HasElfMagic(process_, mapping.begin)) {
      base = mapping.begin;
      file[mapping.file.copy(file, sizeof file - 1)] = '\0';
    }
    if (address >= mapping.end) return true;
    const bool is_of_file = base != 0 && mapping.begin <= address && mapping.file == file;
    if (mapping.begin <= address)
      found = {.begin = mapping.begin, .end = mapping.end, .is_go = is_of_file && IsGoFile(process_, base)};
    return false;
  });
  return found;
}

bool GoCode::Holds(uint64_t address) {
  const auto known = std::ranges::find_if(
      known_, [&](const Known& one) { return one.begin <= address && address < one.end; });
  if (known != known_.end()) return known->is_go;
  constexpr size_t kMostKnown = 64;  // code that is generated comes and goes
  if (known_.size() == kMostKnown) known_.clear();
  known_.push_back(Find(address));
  return known_.back().is_go;
}

}  // namespace lagwatch::sdk
