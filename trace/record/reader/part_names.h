// SPDX-License-Identifier: Apache-2.0
// The texts of names that a program gave to parts of its work, by their addresses in it. Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "stack/elf/elf_file.h"
#include "trace/model/trace.h"
#include "trace/record/arena.h"

namespace lagwatch::trace {

// The module that holds named parts whose text is in no module's constants. It has no build id; a frame's
// offset is a hash of its name, so that the same part is the same place in each run.
inline constexpr char kPartsModule[] = "[parts]";

class PartNames {
 public:
  static constexpr size_t kMaxNameBytes = 255;

  // `arena` is borrowed.
  explicit PartNames(const Arena& arena);

  // The name at `address`: the process's own memory where it is the recorded one, as names stay readable for
  // as long as it runs; else the constants of `module`, an index in the arena, at `offset`, if its file is
  // still there. Empty where neither is known. kNoIndex: in no module.
  std::string Find(uint64_t address, uint32_t module, uint64_t offset);

 private:
  const std::optional<stack::ElfFile>& FileOf(uint32_t module);

  const Arena& arena_;
  bool is_own_;
  std::map<uint32_t, std::optional<stack::ElfFile>> files_;
};

// The offset in kPartsModule of a part with that name.
uint64_t PartOffset(const std::string& name);

}  // namespace lagwatch::trace
