// SPDX-License-Identifier: Apache-2.0
// Unwinding with libunwind's remote interface over a copied stack
// (https://www.nongnu.org/libunwind/docs.html): libunwind interprets the unwind tables, all memory comes
// through our fault-proof reads, and neither malloc nor the loader is called.
#pragma once

#include <memory>

#include "stack/code/unwinder.h"

namespace lagwatch::stack {

// Null when libunwind cannot be set up. Context: background.
std::unique_ptr<Unwinder> CreateLibunwindUnwinder();

}  // namespace lagwatch::stack
