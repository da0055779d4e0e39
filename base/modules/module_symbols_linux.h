// SPDX-License-Identifier: Apache-2.0
// Symbols of the loaded modules, read from their tables in memory. Nothing here calls a function of another
// library or takes a lock. Context: any, also before the library that it is linked into is ready.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace lagwatch::base {

using Address = ElfW(Addr);

template <typename T>
const T* At(Address address) {
  return reinterpret_cast<const T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

bool IsSame(const char* a, const char* b);

// The tables that a module's dynamic section names. Valid while the module is loaded.
struct ModuleTables {
  Address base = 0;
  Address end = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* hash_table = nullptr;
  const ElfW(Half) * versions = nullptr;
  const ElfW(Verneed) * needed = nullptr;
  const ElfW(Verdef) * defined = nullptr;
  const ElfW(Rela) * relocations[2] = {};
  size_t counts[2] = {};
  const char* name = nullptr;

  bool Holds(Address address) const { return base <= address && address < end; }
  bool Read(Address module_base, const ElfW(Dyn) * dynamic);
  // Inside of WalkLoadedModules().
  bool Read(const dl_phdr_info& module);

 private:
  Address AddressOf(const ElfW(Dyn) * dynamic, int64_t tag) const;
};

// Reads a shared library, which begins with its ELF header, with its end. No `dynamic`: by the header.
bool ReadLibrary(Address base, const ElfW(Dyn) * dynamic, ModuleTables* library);

// Returns null if the module does not define the name with that version. No `version`: the one that programs
// are linked to today.
const ElfW(Sym) * FindSymbol(const ModuleTables& library, const char* name, const char* version);

// The address of a function that FindSymbol() has found. Calls, as the loader does, the code that chooses an
// indirect one. 0: that is not one. Context: background, while the module stays loaded.
Address FunctionAt(const ModuleTables& library, const ElfW(Sym) * symbol);

// Finds the loader, whose code contains `code`.
bool FindLoader(Address code, ModuleTables* loader);

constexpr ElfW(Half) kVersionMask = 0x7fff;  // of a symbol's version

}  // namespace lagwatch::base
