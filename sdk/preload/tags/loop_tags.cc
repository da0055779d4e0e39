// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/tags/loop_tags.h"

#include <link.h>

#include "base/modules/module_symbols_linux.h"
#include "base/process/loader_walk.h"

namespace lagwatch::sdk {
namespace {

using base::At;
using base::FindSymbol;
using base::ModuleTables;

}  // namespace

constinit TagTexts g_tag_texts{};

const char* Rename(const HookedThread& thread, const char* tag) {
  // As the C header's inline functions have them: a pointer to the probe is one to its words.
  auto* words = reinterpret_cast<watchdog::LoopWords*>(&thread.loop->probe);
  // Relaxed loads: only this thread writes them.
  if (words->begun.load(std::memory_order_relaxed) == words->ended.load(std::memory_order_relaxed))
    return nullptr;
  const char* before = words->tag.load(std::memory_order_relaxed);
  words->tag.store(tag, std::memory_order_release);
  return before;
}

LoadedFunction FindLoaded(const char* name) {
  struct Search {
    const char* name;
    LoadedFunction found;
  } search{name, {}};
  base::WalkLoadedModules(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* walk = static_cast<Search*>(context);
        const ElfW(Dyn)* dynamic = nullptr;
        LoadedFunction found;
        uintptr_t relro_end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_DYNAMIC) dynamic = At<ElfW(Dyn)>(begin);
          if (segment.p_type == PT_GNU_RELRO) relro_end = begin + segment.p_memsz;
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
          found.writable_begin = begin;
          found.writable_end = begin + segment.p_memsz;
        }
        ModuleTables tables;
        if (dynamic == nullptr || dynamic == _DYNAMIC || !tables.Read(info->dlpi_addr, dynamic)) return 0;
        const ElfW(Sym)* symbol = FindSymbol(tables, walk->name, nullptr);
        if (symbol == nullptr || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) return 0;
        found.address = reinterpret_cast<void*>(info->dlpi_addr + symbol->st_value);
        if (tables.name != nullptr) found.library = tables.name;
        if (relro_end > found.writable_begin) found.writable_begin = relro_end;
        walk->found = found;
        return 1;
      },
      &search);
  return search.found;
}

}  // namespace lagwatch::sdk
