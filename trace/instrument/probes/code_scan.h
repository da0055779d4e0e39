// SPDX-License-Identifier: Apache-2.0
// Looks through the code of functions for what a probe must not meet. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::trace {

// Whether a direct branch in the code [begin, end) may go to one of the first `head_bytes`, which hold one
// instruction. Decodes only code that has such bytes; true, too, if it does not understand that.
bool MayBranchInto(uint64_t begin, uint64_t end, size_t head_bytes);

// Whether code of a function, [begin, end), may branch to `target`; true, too, if it has indirect jumps, or
// is not understood.
bool MayBranchTo(uint64_t begin, uint64_t end, uint64_t target);

// Whether code from `begin` on reads the place of its function's return address, as setjmp() and dlsym() do.
// Looks at what compilers write.
bool ReadsReturnAddress(uint64_t begin, uint64_t end);

// Whether the code [begin, end), all of it instructions, ends in one that never goes on behind it.
bool EndsForGood(uint64_t begin, uint64_t end);

// Whether there are only instructions without effect.
bool IsPadding(uint64_t begin, uint64_t end);

}  // namespace lagwatch::trace
