// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/next_function.h"

#include <link.h>

#include "sdk/preload/module_symbols_linux.h"

namespace lagwatch::sdk {
namespace {

void* FindFrom(const link_map* module, const char* name) {
  for (; module != nullptr; module = module->l_next) {
    ModuleTables tables;
    if (!tables.Read(module->l_addr, module->l_ld)) continue;
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
  return module == nullptr ? nullptr : FindFrom(module->l_next, name);
}

bool HasOtherDefinition(const char* name) {
  for (const link_map* module = _r_debug.r_map; module != nullptr; module = module->l_next) {
    if (module->l_ld == _DYNAMIC) continue;
    ModuleTables tables;
    if (tables.Read(module->l_addr, module->l_ld) && FindSymbol(tables, name, nullptr) != nullptr)
      return true;
  }
  return false;
}

}  // namespace lagwatch::sdk
