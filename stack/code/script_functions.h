// SPDX-License-Identifier: Apache-2.0
// The functions of scripts and of managed code that frames are in. Such code has no addresses that mean the
// same in the next run. A frame of it has its language's module (ModuleMap::AddLanguage); its
// `function_offset` is a number made of the function's name and file, its `offset` that number plus the line
// in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/process/mapped_memory.h"

namespace lagwatch::stack {

struct ScriptFunction {
  std::string_view name;
  std::string_view file;  // may be empty
};

// Keeps the texts of the functions that were met. When it is full it forgets all of them: frames of older
// stacks then have no name. Context: watchdog; not thread-safe.
class ScriptFunctions {
 public:
  static constexpr size_t kMaxFunctions = 4096;
  static constexpr size_t kMaxTextBytes = 512 << 10;
  // Longer texts are cut.
  static constexpr size_t kMaxNameBytes = 256;

  // Returns the number of the function, the same in every run; never 0. Remembers the texts if there is
  // memory.
  uint64_t Add(const ScriptFunction& function);
  // An empty name if it is not known.
  ScriptFunction Find(uint64_t number) const;

 private:
  struct KnownText {
    uint64_t number;  // 0: free
    uint32_t text;    // in texts_: the name, then the file
    uint16_t name_size;
    uint16_t file_size;
  };
  // The place of `number`, or the free place for it.
  size_t PlaceOf(uint64_t number) const;
  void Forget();

  // Taken at the first function: most programs have none.
  base::MappedBlock<KnownText> entries_;
  base::MappedBlock<char> texts_;
  size_t count_ = 0;
  size_t texts_size_ = 0;
};

}  // namespace lagwatch::stack
