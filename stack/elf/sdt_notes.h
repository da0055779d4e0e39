// SPDX-License-Identifier: Apache-2.0
// Notes of <sys/sdt.h>: places in a file's code that its programmers have named, with the places of values.
// Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stack/elf/elf_file.h"

namespace lagwatch::stack {

struct SdtNote {
  uint64_t address = 0;    // of an instruction without effect, in the file's own address space
  uint64_t semaphore = 0;  // address of a 16-bit count of those that listen; 0: there is none
  std::string provider;
  std::string name;
  std::string arguments;  // as in the file: "8@%rdi -4@$5"

  std::string WholeName() const { return provider + ":" + name; }
};

// Those that are damaged are left out.
std::vector<SdtNote> ReadSdtNotes(const ElfFile& file);

}  // namespace lagwatch::stack
