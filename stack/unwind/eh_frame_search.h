// SPDX-License-Identifier: Apache-2.0
// Finds one rule in a module's .eh_frame as it lies in memory, by the binary search table that the linker
// made (Linux Standard Base, "The .eh_frame_hdr section"). For modules whose table is not compiled yet.
#pragma once

#include <cstdint>
#include <memory>

#include "stack/code/module_map.h"
#include "stack/code/page_cache.h"
#include "stack/unwind/unwind_table.h"

namespace lagwatch::stack {

// The address of the .eh_frame of `module` in memory; 0 without one. Context: watchdog, background.
uint64_t EhFrameAddress(const Module& module);

// Context: watchdog (construction: background); not thread-safe.
class EhFrameSearch {
 public:
  EhFrameSearch();

  // Borrows `pages`, which reads the search table. False when nothing is known of the code at `offset`.
  bool Find(const Module& module, uint64_t offset, PageCache* pages, FoundRule* found);

 private:
  static constexpr size_t kMaxEntryBytes = 64 * 1024;

  // Reads the whole entry at `address` into `buffer`.
  static bool ReadEntry(uint64_t address, char* buffer, ByteView* entry, EntryHeader* header);

  std::unique_ptr<char[]> fde_bytes_;
  std::unique_ptr<char[]> cie_bytes_;
};

}  // namespace lagwatch::stack
