// SPDX-License-Identifier: Apache-2.0
// The imports of a loaded module, and the addresses of its import table. Valid only while the loader's lock
// is held, inside dl_iterate_phdr's callback, which keeps the module loaded. Context: background.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lagwatch::trace {

struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool Holds(uint64_t address) const { return begin <= address && address < end; }
};

// A word that the loader fills in with the address of a function.
struct ImportSlot {
  std::string_view name;
  uint32_t symbol;  // index of its name
  uint64_t* address;
  bool is_jump;       // only calls go by it, and perhaps it is filled in at the first
  bool is_undefined;  // in the module itself
};

class LoadedModule {
 public:
  // False when it has nothing that could be looked at.
  bool Read(const dl_phdr_info& info);

  bool HoldsCode(uint64_t address) const;
  bool Holds(uint64_t address) const { return all_.Holds(address); }
  // The range that becomes read-only once the loader has filled it in; whole pages.
  const AddressRange& relro() const { return relro_; }
  // DT_RPATH: where also what its libraries need is looked for.
  bool has_search_path() const { return has_search_path_; }

  // The version of a slot's function; empty: any will do.
  std::string_view VersionOf(const ImportSlot& slot) const;

  // Calls `visit(slot)` for each import of a function or of its address.
  template <typename Visit>
  void ForEachImport(Visit visit) const {
    for (const Relocations& part : {jumps_, others_}) {
      for (size_t i = 0; i < part.count; ++i) {
        ImportSlot slot;
        if (ReadSlot(part.first[i], &slot)) visit(slot);
      }
    }
  }

 private:
  struct Relocations {
    const ElfW(Rela) * first;
    size_t count;
  };
  static constexpr size_t kMaxCodeRanges = 4;

  void ReadDynamic(const ElfW(Dyn) * dynamic);
  bool ReadSlot(const ElfW(Rela) & relocation, ImportSlot* slot) const;
  // The loader has made most addresses of the dynamic section absolute, but not those of the kernel's module.
  uint64_t Absolute(uint64_t address) const { return address < base_ ? base_ + address : address; }

  uint64_t base_ = 0;
  AddressRange all_;
  AddressRange relro_;
  AddressRange code_[kMaxCodeRanges];
  bool has_search_path_ = false;
  Relocations jumps_{};
  Relocations others_{};
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const ElfW(Half) * symbol_versions_ = nullptr;
  const ElfW(Verneed) * needed_versions_ = nullptr;
};

}  // namespace lagwatch::trace
