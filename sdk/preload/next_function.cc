// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/next_function.h"

#include <link.h>

#include "sdk/preload/module_symbols_linux.h"

namespace lagwatch::sdk {

void* FindNextInTables(const char* name) {
  const link_map* module = _r_debug.r_map;
  while (module != nullptr && module->l_ld != _DYNAMIC) module = module->l_next;
  if (module == nullptr) return nullptr;
  for (module = module->l_next; module != nullptr; module = module->l_next) {
    ModuleTables tables;
    if (!tables.Read(module->l_addr, module->l_ld)) continue;
    const ElfW(Sym)* symbol = FindSymbol(tables, name, nullptr);
    if (symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
      return reinterpret_cast<void*>(module->l_addr + symbol->st_value);
  }
  return nullptr;
}

}  // namespace lagwatch::sdk
