// SPDX-License-Identifier: Apache-2.0
// Source: System V ABI, "Dynamic Section"; the GNU hash table and symbol versions as in binutils and glibc.
#include "base/modules/module_symbols_linux.h"

#include <elf.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace lagwatch::base {
namespace {

constexpr ElfW(Half) kHiddenVersion = 0x8000;

bool HasVersion(const ModuleTables& library, uint32_t index, const char* version) {
  if (library.versions == nullptr) return true;
  const ElfW(Half) wanted = library.versions[index];
  if (version == nullptr) return (wanted & kHiddenVersion) == 0;  // the one that is the newest
  const ElfW(Verdef)* entry = library.defined;
  while (entry != nullptr) {
    const Address at = reinterpret_cast<Address>(entry);
    if (entry->vd_ndx == (wanted & kVersionMask))
      return IsSame(library.strings + At<ElfW(Verdaux)>(at + entry->vd_aux)->vda_name, version);
    entry = entry->vd_next == 0 ? nullptr : At<ElfW(Verdef)>(at + entry->vd_next);
  }
  return false;
}

Address ValueOf(const ElfW(Dyn) * dynamic, int64_t tag) {
  for (; dynamic->d_tag != DT_NULL; ++dynamic)
    if (dynamic->d_tag == tag) return dynamic->d_un.d_val;
  return 0;
}

}  // namespace

bool IsSame(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

bool ModuleTables::Read(Address module_base, const ElfW(Dyn) * dynamic) {
  base = module_base;
  symbols = At<ElfW(Sym)>(AddressOf(dynamic, DT_SYMTAB));
  strings = At<char>(AddressOf(dynamic, DT_STRTAB));
  hash_table = At<uint32_t>(AddressOf(dynamic, DT_GNU_HASH));
  versions = At<ElfW(Half)>(AddressOf(dynamic, DT_VERSYM));
  needed = At<ElfW(Verneed)>(AddressOf(dynamic, DT_VERNEED));
  defined = At<ElfW(Verdef)>(AddressOf(dynamic, DT_VERDEF));
  relocations[0] = At<ElfW(Rela)>(AddressOf(dynamic, DT_RELA));
  counts[0] = ValueOf(dynamic, DT_RELASZ) / sizeof(ElfW(Rela));
  relocations[1] = At<ElfW(Rela)>(AddressOf(dynamic, DT_JMPREL));
  counts[1] = ValueOf(dynamic, DT_PLTRELSZ) / sizeof(ElfW(Rela));
  const Address name_at = ValueOf(dynamic, DT_SONAME);
  if (strings != nullptr && name_at != 0) name = strings + name_at;
  return symbols != nullptr && strings != nullptr;
}

bool ModuleTables::Read(const dl_phdr_info& module) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    if (segment.p_type == PT_DYNAMIC)
      return Read(module.dlpi_addr, At<ElfW(Dyn)>(module.dlpi_addr + segment.p_vaddr));
  }
  return false;
}

// The loader has made the addresses of most dynamic sections absolute, but not those of its own.
Address ModuleTables::AddressOf(const ElfW(Dyn) * dynamic, int64_t tag) const {
  const Address address = ValueOf(dynamic, tag);
  return address != 0 && address < base ? base + address : address;
}

bool ReadLibrary(Address base, const ElfW(Dyn) * dynamic, ModuleTables* library) {
  const auto* header = At<ElfW(Ehdr)>(base);
  const auto* segments = At<ElfW(Phdr)>(base + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    const ElfW(Phdr)& segment = segments[i];
    const Address end = base + segment.p_vaddr + segment.p_memsz;
    if (segment.p_type == PT_LOAD && end > library->end) library->end = end;
    if (segment.p_type == PT_DYNAMIC) dynamic = At<ElfW(Dyn)>(base + segment.p_vaddr);
  }
  return dynamic != nullptr && library->Read(base, dynamic);
}

const ElfW(Sym) * FindSymbol(const ModuleTables& library, const char* name, const char* version) {
  if (library.hash_table == nullptr) return nullptr;
  const uint32_t bucket_count = library.hash_table[0];
  const uint32_t first_hashed = library.hash_table[1];
  const uint32_t bloom_words = library.hash_table[2];
  const uint32_t* buckets = library.hash_table + 4 + bloom_words * (sizeof(Address) / sizeof(uint32_t));
  const uint32_t* chain = buckets + bucket_count;
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  uint32_t index = buckets[hash % bucket_count];
  if (index < first_hashed) return nullptr;
  for (;; ++index) {
    const uint32_t at = chain[index - first_hashed];
    const ElfW(Sym)* symbol = library.symbols + index;
    if ((at | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
        IsSame(library.strings + symbol->st_name, name) && HasVersion(library, index, version))
      return symbol;
    if ((at & 1) != 0) return nullptr;
  }
}

Address FunctionAt(const ModuleTables& library, const ElfW(Sym) * symbol) {
  if (symbol == nullptr || symbol->st_value == 0) return 0;
  const Address address = library.base + symbol->st_value;
  const auto type = ELF64_ST_TYPE(symbol->st_info);
  if (type != STT_GNU_IFUNC) return type == STT_FUNC || type == STT_NOTYPE ? address : 0;
#if defined(__aarch64__)
  constexpr uint64_t kHasMore = uint64_t{1} << 62;
  const struct {
    uint64_t size_bytes, capabilities, more;
  } arguments{sizeof arguments, getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  return reinterpret_cast<Address (*)(uint64_t, const void*)>(address)(arguments.capabilities | kHasMore,
                                                                       &arguments);
#else
  return reinterpret_cast<Address (*)()>(address)();
#endif
}

bool FindLoader(Address code, ModuleTables* loader) {
  constexpr Address kPageBytes = 4096;
  constexpr int kMostPages = 1024;
  Address base = code & ~(kPageBytes - 1);
  for (int i = 0; i < kMostPages; ++i, base -= kPageBytes) {
    const auto* header = At<ElfW(Ehdr)>(base);
    if (*At<uint32_t>(base) != 0x464c457f || header->e_type != ET_DYN) continue;  // "\177ELF"
    return ReadLibrary(base, nullptr, loader);
  }
  return false;
}

}  // namespace lagwatch::base
