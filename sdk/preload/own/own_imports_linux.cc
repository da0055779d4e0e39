// SPDX-License-Identifier: Apache-2.0
// Binds what this library imports to the C library's own definitions. The loader binds a name to the first
// definition in the process, and a program may define any: its own `read`, a malloc without locks, a clock
// that is faked. See docs/design/imports.md.
//
// The work is done in the resolver of an indirect function (GNU_IFUNC): the loader calls it as the last of
// this library's relocations, when the C library has all of its own, when no code of this library can have
// run, and when the import table may still be written. So it must call no function of another library,
// not even memcpy(3).
#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#include "base/modules/module_symbols_linux.h"

namespace lagwatch::sdk {
namespace {

using base::Address;
using base::At;
using base::FindLoader;
using base::FindSymbol;
using base::IsSame;
using base::kVersionMask;
using base::ModuleTables;
using base::ReadLibrary;

#if defined(__x86_64__)
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr uint32_t kAddressSlot = R_X86_64_GLOB_DAT;
constexpr uint32_t kWord = R_X86_64_64;
constexpr uint32_t kCopy = R_X86_64_COPY;
#elif defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr uint32_t kAddressSlot = R_AARCH64_GLOB_DAT;
constexpr uint32_t kWord = R_AARCH64_ABS64;
constexpr uint32_t kCopy = R_AARCH64_COPY;
#endif

constexpr const char* kSearched = "_r_debug";  // the loader's list of modules, for debuggers

// Arguments that the loader passes to resolvers; on x86-64 there are none, and these are not used.
struct ResolverArguments {
  uint64_t capabilities;
  const void* more;
};

const ElfW(Verneed) * Next(const ElfW(Verneed) * file) {
  return file->vn_next == 0 ? nullptr : At<ElfW(Verneed)>(reinterpret_cast<Address>(file) + file->vn_next);
}

class Binding {
 public:
  Binding(const ModuleTables& own, const link_map* modules, ResolverArguments arguments)
      : own_(own), modules_(modules), arguments_(arguments) {}

  void Bind(const ElfW(Rela) & relocation);

 private:
  struct Definition {
    const ModuleTables* library = nullptr;
    const ElfW(Sym) * symbol = nullptr;
  };

  const ModuleTables* LibraryOf(const char* name);
  Definition DefinitionOf(uint32_t import);
  Definition DefinitionIn(const ElfW(Verneed) * file, const char* name, const char* version);
  const char* VersionIn(const ElfW(Verneed) * file, ElfW(Half) wanted) const;
  bool IsCopied(Address address) const;

  const ModuleTables& own_;
  const link_map* modules_;  // the program first
  ResolverArguments arguments_;
  size_t library_count_ = 0;
};

// Of the one Binding; here, because the compiler would clear it on the stack by memset(3).
constexpr size_t kMostLibraries = 8;
constinit ModuleTables g_libraries[kMostLibraries];

const ModuleTables* Binding::LibraryOf(const char* name) {
  for (size_t i = 0; i < library_count_; ++i) {
    if (IsSame(g_libraries[i].name, name)) return &g_libraries[i];
  }
  if (library_count_ == kMostLibraries) return nullptr;
  for (const link_map* at = modules_->l_next; at != nullptr; at = at->l_next) {
    ModuleTables named;
    if (at->l_ld == nullptr || !named.Read(at->l_addr, at->l_ld) || named.name == nullptr ||
        !IsSame(named.name, name))
      continue;
    ModuleTables* library = &g_libraries[library_count_];
    if (!ReadLibrary(at->l_addr, at->l_ld, library)) return nullptr;
    ++library_count_;
    return library;
  }
  return nullptr;
}

// In the library that has the wanted version, or in another that this library needs, because functions move
// from one to another (from libpthread into libc); without a version, in any of them: of weak names, and of
// the functions that this library puts in front of the C library's.
Binding::Definition Binding::DefinitionOf(uint32_t import) {
  const ElfW(Half) wanted = own_.versions[import] & kVersionMask;
  const char* name = own_.strings + own_.symbols[import].st_name;
  const char* version = nullptr;
  Definition found;
  for (const ElfW(Verneed)* file = own_.needed; file != nullptr; file = Next(file)) {
    const char* here = VersionIn(file, wanted);
    if (here == nullptr && wanted > VER_NDX_GLOBAL) continue;
    version = here;
    if (const Definition one = DefinitionIn(file, name, version); one.symbol != nullptr) found = one;
  }
  for (const ElfW(Verneed)* file = own_.needed; file != nullptr && found.symbol == nullptr; file = Next(file))
    found = DefinitionIn(file, name, version);
  return found;
}

Binding::Definition Binding::DefinitionIn(const ElfW(Verneed) * file, const char* name, const char* version) {
  const ModuleTables* library = LibraryOf(own_.strings + file->vn_file);
  const ElfW(Sym)* symbol = library == nullptr ? nullptr : FindSymbol(*library, name, version);
  return symbol == nullptr ? Definition() : Definition{library, symbol};
}

const char* Binding::VersionIn(const ElfW(Verneed) * file, ElfW(Half) wanted) const {
  const auto* version = At<ElfW(Vernaux)>(reinterpret_cast<Address>(file) + file->vn_aux);
  for (int i = 0; i < file->vn_cnt; ++i) {
    if ((version->vna_other & kVersionMask) == wanted) return own_.strings + version->vna_name;
    version = At<ElfW(Vernaux)>(reinterpret_cast<Address>(version) + version->vna_next);
  }
  return nullptr;
}

// Whether the C library's variable lives in the program, which is not position-independent, and is used there
// by all.
bool Binding::IsCopied(Address address) const {
  ModuleTables program;
  if (!program.Read(modules_->l_addr, modules_->l_ld)) return false;
  for (size_t i = 0; i < program.counts[0]; ++i) {
    const ElfW(Rela)& relocation = program.relocations[0][i];
    if (ELF64_R_TYPE(relocation.r_info) == kCopy && program.base + relocation.r_offset == address)
      return true;
  }
  return false;
}

void Binding::Bind(const ElfW(Rela) & relocation) {
  const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
  const auto index = static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info));
  if (index == 0 || (type != kJumpSlot && type != kAddressSlot && type != kWord)) return;
  const ElfW(Sym)& import = own_.symbols[index];
  if (import.st_shndx != SHN_UNDEF && type != kJumpSlot) return;  // the address of a hook
  auto* slot = reinterpret_cast<Address*>(own_.base + relocation.r_offset);
  const Address addend = type == kWord ? static_cast<Address>(relocation.r_addend) : 0;
  const Definition definition = DefinitionOf(index);
  if (definition.symbol == nullptr) {
    // An optional part of another runtime, which is not for this library.
    if (ELF64_ST_BIND(import.st_info) == STB_WEAK) *slot = 0;
    return;
  }
  const auto kind = ELF64_ST_TYPE(definition.symbol->st_info);
  // A hook that calls another one means that.
  if (import.st_shndx != SHN_UNDEF && own_.Holds(*slot)) return;
  if (definition.library->Holds(*slot - addend) || (kind == STT_OBJECT && IsCopied(*slot - addend))) return;
  Address address = definition.library->base + definition.symbol->st_value;
  if (kind == STT_GNU_IFUNC) {
    using Resolver = Address (*)(uint64_t, const void*);
    address = reinterpret_cast<Resolver>(address)(arguments_.capabilities, arguments_.more);
  }
  *slot = address + addend;
}

bool IsAmong(const link_map* modules, const ElfW(Dyn) * dynamic) {
  for (; modules != nullptr; modules = modules->l_next) {
    if (modules->l_ld == dynamic) return true;
  }
  return false;
}

void Imported() {}

}  // namespace

extern "C" {

__attribute__((visibility("hidden"))) extern const ElfW(Ehdr) __ehdr_start;

using LagwatchFunction = void();

__attribute__((visibility("hidden"), used)) LagwatchFunction* LagwatchBindImports(uint64_t capabilities,
                                                                                  const void* more) {
  ModuleTables loader;
  ModuleTables own;
  const auto caller = reinterpret_cast<Address>(__builtin_extract_return_addr(__builtin_return_address(0)));
  const ElfW(Sym)* found = FindLoader(caller, &loader) ? FindSymbol(loader, kSearched, nullptr) : nullptr;
  if (found == nullptr || !ReadLibrary(reinterpret_cast<Address>(&__ehdr_start), _DYNAMIC, &own))
    return &Imported;
  const link_map* modules = At<r_debug>(loader.base + found->st_value)->r_map;
  // The library does not work in a namespace of its own (dlmopen), which has another C library.
  if (!IsAmong(modules, _DYNAMIC) || own.versions == nullptr) return &Imported;
  Binding binding(own, modules, {capabilities, more});
  for (int part = 0; part < 2; ++part) {
    for (size_t i = 0; i < own.counts[part]; ++i) binding.Bind(own.relocations[part][i]);
  }
  return &Imported;
}

// A call of it makes the linker write the relocation.
__attribute__((visibility("hidden"))) void LagwatchImported() __attribute__((ifunc("LagwatchBindImports")));

}  // extern "C"

namespace {
[[gnu::constructor]] void UseImports() { LagwatchImported(); }
}  // namespace

}  // namespace lagwatch::sdk
