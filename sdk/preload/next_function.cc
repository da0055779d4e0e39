// SPDX-License-Identifier: Apache-2.0
// Source: System V ABI, "Dynamic Section"; the GNU hash table as in binutils.
#include "sdk/preload/next_function.h"

#include <link.h>

#include <cstdint>

namespace lagwatch::sdk {
namespace {

// Not the C library's: the program may define that.
bool IsSame(const char* left, const char* right) {
  while (*left != '\0' && *left == *right) ++left, ++right;
  return *left == *right;
}

uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The dynamic symbols of one module.
class Symbols {
 public:
  explicit Symbols(const link_map& module) : bias_(module.l_addr) {
    for (const ElfW(Dyn)* entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
      // The loader has made addresses of them, except in the kernel's own module.
      const ElfW(Addr) address = entry->d_un.d_ptr < bias_ ? bias_ + entry->d_un.d_ptr : entry->d_un.d_ptr;
      if (entry->d_tag == DT_GNU_HASH) hash_table_ = reinterpret_cast<const uint32_t*>(address);
      if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
      if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(address);
      if (entry->d_tag == DT_VERSYM) versions_ = reinterpret_cast<const ElfW(Versym)*>(address);
    }
  }

  // Null if the module does not define that function.
  void* Find(const char* name) const {
    if (hash_table_ == nullptr || symbols_ == nullptr || names_ == nullptr) return nullptr;
    const uint32_t bucket_count = hash_table_[0];
    const uint32_t first_symbol = hash_table_[1];
    const uint32_t filter_words = hash_table_[2];
    const uint32_t* buckets = hash_table_ + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t* hashes = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;
    const uint32_t wanted = GnuHash(name);
    uint32_t index = buckets[wanted % bucket_count];
    if (index < first_symbol) return nullptr;
    for (;; ++index) {
      const uint32_t hash = hashes[index - first_symbol];
      constexpr uint32_t kIsLast = 1;
      if ((hash | kIsLast) == (wanted | kIsLast) && IsDefinition(index, name))
        return reinterpret_cast<void*>(bias_ + symbols_[index].st_value);
      if ((hash & kIsLast) != 0) return nullptr;
    }
  }

 private:
  bool IsDefinition(uint32_t index, const char* name) const {
    constexpr ElfW(Versym) kIsOld = 0x8000;  // for programs that were linked long ago
    const ElfW(Sym)& symbol = symbols_[index];
    return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
           (versions_ == nullptr || (versions_[index] & kIsOld) == 0) &&
           IsSame(names_ + symbol.st_name, name);
  }

  ElfW(Addr) bias_;
  const uint32_t* hash_table_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const ElfW(Versym) * versions_ = nullptr;
};

}  // namespace

void* FindNextInTables(const char* name) {
  const link_map* module = _r_debug.r_map;
  while (module != nullptr && module->l_ld != _DYNAMIC) module = module->l_next;
  if (module == nullptr) return nullptr;
  for (module = module->l_next; module != nullptr; module = module->l_next) {
    if (void* function = Symbols(*module).Find(name)) return function;
  }
  return nullptr;
}

}  // namespace lagwatch::sdk
