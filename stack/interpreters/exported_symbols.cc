// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/exported_symbols.h"

#include <elf.h>
#include <link.h>

#include <array>

#include "stack/elf/dynamic_tables.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kMaxNameBytes = 128;
constexpr uint32_t kMaxChain = 4096;  // of symbols with one hash

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
  DynamicTables tables;
  const auto read = [this](uint64_t address, void* destination, size_t size_bytes) {
    return memory_->Read(address, destination, size_bytes);
  };
  if (!ReadDynamicTables(base_, load_bias_, read, &tables)) return false;
  hash_table_ = tables.gnu_hash;
  symbols_ = tables.symbols;
  names_ = tables.names;
  return hash_table_ != 0 && symbols_ != 0 && names_ != 0;
}

uint64_t ExportedSymbols::FindInTables(std::string_view name) const {
  GnuHashHeader header;
  if (hash_table_ == 0 || !memory_->Read(hash_table_, &header) || header.bucket_count == 0) return 0;
  const uint32_t hash = GnuHash(name);
  const uint64_t buckets = header.Buckets(hash_table_);
  const uint64_t chains = header.Chains(hash_table_);
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
