// SPDX-License-Identifier: Apache-2.0
// A place in code that means the same in every run of the same binaries. Context: any.
#pragma once

#include <cstdint>

#include "base/hash.h"

namespace lagwatch::stack {

inline constexpr uint32_t kNoModule = UINT32_MAX;

// Plain data without initializers: large arrays of frames are allocated and must not be touched.
struct Frame {
  // An index into the modules that the frame was unwound or reported with: a ModuleMap, or a report's.
  // kNoModule for code made at run time.
  uint32_t module;
  // In the module's own address space, as in its symbol table; the address itself without a module. For a
  // caller this is the byte before the return address, which is inside the call.
  uint64_t offset;
  uint64_t function_offset;  // of the function's start; 0 if the unwind table does not have it

  // The place that a symbol names: the function if the unwind table knows it, else the very place.
  uint64_t symbol_offset() const { return function_offset != 0 ? function_offset : offset; }
  // Equal for two places in the same function.
  uint64_t FunctionHash(uint64_t seed = base::kFnvOffsetBasis) const {
    // Code made at run time has no functions that are known, and its addresses differ from run to run.
    return base::HashWord(module == kNoModule ? 0 : symbol_offset(), base::HashWord(module, seed));
  }
};

}  // namespace lagwatch::stack
