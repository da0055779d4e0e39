// SPDX-License-Identifier: Apache-2.0
#include "trace/hooks/loaded_module_linux.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace lagwatch::trace {
namespace {

uint64_t PageOf(uint64_t address) { return address & ~(static_cast<uint64_t>(getpagesize()) - 1); }

template <typename T>
const T* Pointer(uint64_t address) {
  return reinterpret_cast<const T*>(address);
}

#if defined(__x86_64__)
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr uint32_t kAddressSlot = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr uint32_t kAddressSlot = R_AARCH64_GLOB_DAT;
#endif

}  // namespace

bool LoadedModule::Read(const dl_phdr_info& info) {
  base_ = info.dlpi_addr;
  const ElfW(Dyn)* dynamic = nullptr;
  size_t code_count = 0;
  all_ = {UINT64_MAX, 0};
  for (const ElfW(Phdr)* header = info.dlpi_phdr; header != info.dlpi_phdr + info.dlpi_phnum; ++header) {
    const AddressRange range{base_ + header->p_vaddr, base_ + header->p_vaddr + header->p_memsz};
    switch (header->p_type) {
      case PT_LOAD:
        all_ = {std::min(all_.begin, range.begin), std::max(all_.end, range.end)};
        if ((header->p_flags & PF_X) != 0 && code_count < kMaxCodeRanges) code_[code_count++] = range;
        break;
      case PT_DYNAMIC:
        dynamic = Pointer<ElfW(Dyn)>(range.begin);
        break;
      case PT_GNU_RELRO:
        relro_ = {PageOf(range.begin), PageOf(range.end)};  // as the loader rounds it
        break;
      default:
        break;
    }
  }
  if (dynamic == nullptr) return false;
  ReadDynamic(dynamic);
  return symbols_ != nullptr && strings_ != nullptr;
}

void LoadedModule::ReadDynamic(const ElfW(Dyn) * dynamic) {
  const auto value_of = [dynamic](auto tag) -> uint64_t {
    for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == tag) return entry->d_un.d_val;
    return 0;
  };
  const auto address_of = [&](auto tag) {
    const uint64_t value = value_of(tag);
    return value == 0 ? 0 : Absolute(value);
  };
  symbols_ = Pointer<ElfW(Sym)>(address_of(DT_SYMTAB));
  strings_ = Pointer<char>(address_of(DT_STRTAB));
  symbol_versions_ = Pointer<ElfW(Half)>(address_of(DT_VERSYM));
  needed_versions_ = Pointer<ElfW(Verneed)>(address_of(DT_VERNEED));
  jumps_ = {Pointer<ElfW(Rela)>(address_of(DT_JMPREL)), value_of(DT_PLTRELSZ) / sizeof(ElfW(Rela))};
  others_ = {Pointer<ElfW(Rela)>(address_of(DT_RELA)), value_of(DT_RELASZ) / sizeof(ElfW(Rela))};
  has_search_path_ = value_of(DT_RPATH) != 0;
  const uint64_t relative_count = value_of(DT_RELACOUNT);
  if (jumps_.first == nullptr) jumps_.count = 0;
  if (others_.first == nullptr || relative_count > others_.count) others_.count = 0;
  if (others_.count != 0) others_ = {others_.first + relative_count, others_.count - relative_count};
}

bool LoadedModule::HoldsCode(uint64_t address) const {
  return std::any_of(std::begin(code_), std::end(code_),
                     [=](const AddressRange& range) { return range.Holds(address); });
}

bool LoadedModule::ReadSlot(const ElfW(Rela) & relocation, ImportSlot* slot) const {
  const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
  if (type != kJumpSlot && type != kAddressSlot) return false;
  const auto symbol_index = static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info));
  const ElfW(Sym)& symbol = symbols_[symbol_index];
  const uint64_t address = base_ + relocation.r_offset;
  if (symbol_index == 0 || address % sizeof(uint64_t) != 0) return false;
  slot->symbol = symbol_index;
  slot->name = strings_ + symbol.st_name;
  slot->address = reinterpret_cast<uint64_t*>(address);
  slot->is_jump = type == kJumpSlot;
  slot->is_undefined = symbol.st_shndx == SHN_UNDEF;
  return true;
}

std::string_view LoadedModule::VersionOf(const ImportSlot& slot) const {
  constexpr uint32_t kHidden = 0x8000;
  if (symbol_versions_ == nullptr || needed_versions_ == nullptr) return {};
  const uint32_t wanted = symbol_versions_[slot.symbol] & ~kHidden;
  if (wanted <= VER_NDX_GLOBAL) return {};
  for (const ElfW(Verneed)* needed = needed_versions_;;) {
    const auto* version = Pointer<ElfW(Vernaux)>(reinterpret_cast<uint64_t>(needed) + needed->vn_aux);
    for (uint32_t i = 0; i < needed->vn_cnt; ++i) {
      if ((version->vna_other & ~kHidden) == wanted) return strings_ + version->vna_name;
      version = Pointer<ElfW(Vernaux)>(reinterpret_cast<uint64_t>(version) + version->vna_next);
    }
    if (needed->vn_next == 0) return {};
    needed = Pointer<ElfW(Verneed)>(reinterpret_cast<uint64_t>(needed) + needed->vn_next);
  }
}

}  // namespace lagwatch::trace
