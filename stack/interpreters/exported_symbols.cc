// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/exported_symbols.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace lagwatch::stack {
namespace {

constexpr size_t kMaxHeaders = 64;
constexpr size_t kMaxDynamicEntries = 256;
constexpr size_t kMaxNameBytes = 128;
constexpr uint32_t kMaxChain = 4096;  // of symbols with one hash

struct HashHeader {
  uint32_t bucket_count;
  uint32_t first_symbol;
  uint32_t bloom_words;
  uint32_t bloom_shift;
};

uint32_t GnuHash(std::string_view name) {
  uint32_t hash = 5381;
  for (char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  return hash;
}

}  // namespace

ExportedSymbols::ExportedSymbols(Memory* memory, uint64_t base, uint64_t load_bias)
    : memory_(memory), base_(base), load_bias_(load_bias) {
  if (!ReadTables()) hash_table_ = 0;
}

uint64_t ExportedSymbols::Find(std::string_view name) const {
  const uint64_t address = FindInTables(name);
  return address == 0 && registered_ != nullptr ? registered_->Find(name, base_, end_) : address;
}

bool ExportedSymbols::ReadTables() {
  ElfW(Ehdr) elf;
  if (!memory_->Read(base_, &elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (elf.e_phentsize != sizeof(ElfW(Phdr))) return false;
  std::array<ElfW(Phdr), kMaxHeaders> segments;
  const size_t segment_count = std::min<size_t>(elf.e_phnum, segments.size());
  if (!memory_->Read(base_ + elf.e_phoff, segments.data(), segment_count * sizeof segments[0])) return false;
  const auto end = segments.cbegin() + static_cast<ptrdiff_t>(segment_count);
  const auto dynamic =
      std::find_if(segments.cbegin(), end, [](const auto& segment) { return segment.p_type == PT_DYNAMIC; });
  if (dynamic == end) return false;
  std::array<ElfW(Dyn), kMaxDynamicEntries> entries;
  const size_t entry_count = std::min<size_t>(dynamic->p_memsz / sizeof entries[0], entries.size());
  if (!memory_->Read(load_bias_ + dynamic->p_vaddr, entries.data(), entry_count * sizeof entries[0]))
    return false;
  for (size_t i = 0; i < entry_count && entries[i].d_tag != DT_NULL; ++i) {
    // The loader has added the load bias, unless the section is read-only.
    const uint64_t given = entries[i].d_un.d_ptr;
    const uint64_t address = given < load_bias_ ? given + load_bias_ : given;
    if (entries[i].d_tag == DT_GNU_HASH) hash_table_ = address;
    if (entries[i].d_tag == DT_SYMTAB) symbols_ = address;
    if (entries[i].d_tag == DT_STRTAB) names_ = address;
  }
  return hash_table_ != 0 && symbols_ != 0 && names_ != 0;
}

uint64_t ExportedSymbols::FindInTables(std::string_view name) const {
  HashHeader header;
  if (hash_table_ == 0 || !memory_->Read(hash_table_, &header) || header.bucket_count == 0) return 0;
  const uint32_t hash = GnuHash(name);
  const uint64_t buckets = hash_table_ + sizeof header + uint64_t{header.bloom_words} * sizeof(ElfW(Addr));
  const uint64_t chains = buckets + uint64_t{header.bucket_count} * sizeof(uint32_t);
  uint32_t index = 0;
  if (!memory_->Read(buckets + uint64_t{hash % header.bucket_count} * sizeof index, &index)) return 0;
  if (index < header.first_symbol) return 0;
  for (uint32_t steps = 0; steps < kMaxChain; ++steps, ++index) {
    uint32_t chained = 0;
    if (!memory_->Read(chains + uint64_t{index - header.first_symbol} * sizeof chained, &chained)) return 0;
    if ((chained | 1) == (hash | 1)) {
      if (const uint64_t address = AddressOf(index, name)) return address;
    }
    if ((chained & 1) != 0) break;  // the last of its chain
  }
  return 0;
}

uint64_t ExportedSymbols::AddressOf(uint32_t index, std::string_view name) const {
  ElfW(Sym) symbol;
  if (!memory_->Read(symbols_ + uint64_t{index} * sizeof symbol, &symbol)) return 0;
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return 0;
  std::array<char, kMaxNameBytes> found{};
  if (name.size() >= found.size() || !memory_->Read(names_ + symbol.st_name, found.data(), name.size() + 1))
    return 0;
  return name == found.data() ? load_bias_ + symbol.st_value : 0;
}

}  // namespace lagwatch::stack
