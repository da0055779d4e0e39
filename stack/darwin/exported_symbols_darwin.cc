// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/exported_symbols.h"

namespace lagwatch::stack {

// Not read from Mach-O images, so frames of interpreters keep their native form.
ExportedSymbols::ExportedSymbols(Memory* memory, uint64_t, uint64_t load_bias)
    : memory_(memory), load_bias_(load_bias) {}

uint64_t ExportedSymbols::Find(std::string_view) const { return 0; }

}  // namespace lagwatch::stack
