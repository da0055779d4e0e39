// SPDX-License-Identifier: Apache-2.0
// Finds exported symbols of a loaded module in its own tables in memory: without the loader, whose lock the
// frozen thread may hold. Source: System V ABI, "Dynamic Section"; the GNU hash table as in binutils.
#pragma once

#include <cstdint>
#include <string_view>

#include "stack/interpreters/memory.h"
#include "stack/interpreters/registered_functions.h"

namespace lagwatch::stack {

// The dynamic symbols of one module. Context: watchdog.
class ExportedSymbols {
 public:
  // `base`: the address of the module's ELF header. `memory` is borrowed.
  ExportedSymbols(Memory* memory, uint64_t base, uint64_t load_bias);
  // Takes those of `functions` (borrowed) as exported, too, that are between the module's base and `end`.
  void Add(const RegisteredFunctions* functions, uint64_t end) {
    registered_ = functions;
    end_ = end;
  }

  // The symbol's address; 0 if the module does not define it.
  uint64_t Find(std::string_view name) const;

 private:
  bool ReadTables();
  uint64_t FindInTables(std::string_view name) const;
  // Whether the symbol of that index defines `name`; then its address.
  uint64_t AddressOf(uint32_t index, std::string_view name) const;

  Memory* memory_;
  uint64_t base_;
  uint64_t load_bias_;
  const RegisteredFunctions* registered_ = nullptr;
  uint64_t end_ = 0;
  uint64_t hash_table_ = 0;  // 0: there are no symbols
  uint64_t symbols_ = 0;
  uint64_t names_ = 0;
};

}  // namespace lagwatch::stack
