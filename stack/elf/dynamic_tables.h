// SPDX-License-Identifier: Apache-2.0
// Finds the tables of a loaded module's dynamic symbols by its headers in memory: without the loader, whose
// lock the frozen thread may hold. Source: System V ABI, "Dynamic Section"; the GNU hash table as in
// binutils.
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lagwatch::stack {

// Addresses; 0: the module has none.
struct DynamicTables {
  uint64_t symbols = 0;
  uint64_t names = 0;
  uint64_t names_size_bytes = 0;
  uint64_t gnu_hash = 0;
  uint64_t hash = 0;  // of the System V ABI
};

struct GnuHashHeader {
  uint32_t bucket_count;
  uint32_t first_symbol;
  uint32_t bloom_words;
  uint32_t bloom_shift;

  uint64_t Buckets(uint64_t table) const {
    return table + sizeof *this + uint64_t{bloom_words} * sizeof(ElfW(Addr));
  }
  // The entry of `first_symbol`; those of the following symbols follow.
  uint64_t Chains(uint64_t table) const { return Buckets(table) + uint64_t{bucket_count} * sizeof(uint32_t); }
};

// Of the module whose ELF header is at `base`; false if its headers cannot be read.
// `read(address, destination, size_bytes)` copies all requested bytes, or returns false. Context: that of
// `read`; takes no memory and no lock of its own.
template <typename Read>
bool ReadDynamicTables(uint64_t base, uint64_t load_bias, Read read, DynamicTables* tables) {
  constexpr size_t kMaxHeaders = 64;
  constexpr size_t kMaxDynamicEntries = 256;
  ElfW(Ehdr) elf;
  if (!read(base, &elf, sizeof elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (elf.e_phentsize != sizeof(ElfW(Phdr))) return false;
  std::array<ElfW(Phdr), kMaxHeaders> segments;
  const size_t segment_count = std::min<size_t>(elf.e_phnum, segments.size());
  if (!read(base + elf.e_phoff, segments.data(), segment_count * sizeof segments[0])) return false;
  const auto end = segments.cbegin() + static_cast<ptrdiff_t>(segment_count);
  const auto dynamic =
      std::find_if(segments.cbegin(), end, [](const auto& segment) { return segment.p_type == PT_DYNAMIC; });
  if (dynamic == end) return false;
  std::array<ElfW(Dyn), kMaxDynamicEntries> entries;
  const size_t entry_count = std::min<size_t>(dynamic->p_memsz / sizeof entries[0], entries.size());
  if (!read(load_bias + dynamic->p_vaddr, entries.data(), entry_count * sizeof entries[0])) return false;
  for (size_t i = 0; i < entry_count && entries[i].d_tag != DT_NULL; ++i) {
    // The loader has added the load bias, unless the section is read-only.
    const uint64_t given = entries[i].d_un.d_ptr;
    const uint64_t address = given < load_bias ? given + load_bias : given;
    if (entries[i].d_tag == DT_GNU_HASH) tables->gnu_hash = address;
    if (entries[i].d_tag == DT_HASH) tables->hash = address;
    if (entries[i].d_tag == DT_SYMTAB) tables->symbols = address;
    if (entries[i].d_tag == DT_STRTAB) tables->names = address;
    if (entries[i].d_tag == DT_STRSZ) tables->names_size_bytes = entries[i].d_un.d_val;
  }
  return true;
}

}  // namespace lagwatch::stack
