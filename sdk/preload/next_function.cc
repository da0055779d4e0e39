// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/next_function.h"

#include <link.h>

#include "base/modules/module_symbols_linux.h"

namespace lagwatch::sdk {
namespace {

using base::FindSymbol;
using base::ModuleTables;

// The first definition of the function in that module or one of those that follow, but not in this library.
void* FindFrom(const link_map* module, const char* name) {
  for (; module != nullptr; module = module->l_next) {
    ModuleTables tables;
    if (module->l_ld == _DYNAMIC || !tables.Read(module->l_addr, module->l_ld)) continue;
    const ElfW(Sym)* symbol = FindSymbol(tables, name, nullptr);
    if (symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
      return reinterpret_cast<void*>(module->l_addr + symbol->st_value);
  }
  return nullptr;
}

}  // namespace

void* FindNextInTables(const char* name) {
  const link_map* module = _r_debug.r_map;
  while (module != nullptr && module->l_ld != _DYNAMIC) module = module->l_next;
  return FindFrom(module, name);
}

bool HasOtherDefinition(const char* name) { return FindFrom(_r_debug.r_map, name) != nullptr; }

}  // namespace lagwatch::sdk
