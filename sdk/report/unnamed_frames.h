// SPDX-License-Identifier: Apache-2.0
// The functions of a report that nothing can name later, because no path leads to their modules' files.
// Context: watchdog; not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/process/process.h"
#include "report/format/fixed_buffer.h"
#include "stack/code/loaded_names.h"
#include "stack/code/module_map.h"

namespace lagwatch::sdk {

class UnnamedFrames {
 public:
  // Takes a function if its module may be one of those. `encoded_module` is the report's index of it.
  void Add(const stack::ModuleMap& modules, uint32_t module, uint32_t encoded_module, uint64_t symbol_offset);
  size_t count() const { return count_; }
  // Back to an earlier count().
  void Rewind(size_t count) { count_ = count; }

  // Appends the names of those taken to the encoded report in `buffer`, as far as they fit, those added first
  // first. `watched` is the process that the report is of. Reads files, so the report itself should be on
  // disk by then. Returns whether there are any.
  bool AppendNames(const base::Process& watched, stack::LoadedNames* names, report::FixedBuffer* buffer);

 private:
  static constexpr size_t kMaxFunctions = 1024;

  struct Function {
    const stack::ModuleMap* modules;
    uint32_t module;
    uint32_t encoded_module;
    uint64_t offset;  // UINT64_MAX: was looked up
  };

  size_t TakeOffsets(const Function& first, std::array<uint64_t, stack::LoadedNames::kMaxPlaces>* offsets);

  size_t count_ = 0;
  std::array<Function, kMaxFunctions> functions_;
};

}  // namespace lagwatch::sdk
