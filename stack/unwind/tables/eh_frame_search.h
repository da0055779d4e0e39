// SPDX-License-Identifier: Apache-2.0
// Finds one rule in a module's .eh_frame as it lies in memory, by the binary search table that the linker
// made (Linux Standard Base, "The .eh_frame_hdr section"). For modules whose table is not compiled yet.
#pragma once

#include <cstdint>

#include "base/process/own_memory.h"
#include "stack/code/module_map.h"
#include "stack/code/page_cache.h"
#include "stack/unwind/tables/call_frame_info.h"
#include "stack/unwind/tables/rule.h"

namespace lagwatch::stack {

// The address of the .eh_frame of `module` in memory; 0 without one. Context: watchdog, background.
uint64_t EhFrameAddress(const Module& module);

// Context: watchdog (construction: background); not thread-safe.
class EhFrameSearch {
 public:
  EhFrameSearch();
  // False when there was no memory.
  bool ok() const { return fde_bytes_ != nullptr && cie_bytes_ != nullptr; }

  // Borrows `pages`, which reads the search table. False when nothing is known of the code at `offset`.
  bool Find(const Module& module, uint64_t offset, PageCache* pages, FoundRule* found);
  // The same for the places in which registers are saved; the function is given by its addresses.
  bool FindSaved(const Module& module, uint64_t offset, PageCache* pages, SavedPlaces* saved);

 private:
  static constexpr size_t kMaxEntryBytes = 64 * 1024;

  // The entry for the code at `offset`, valid until the next call.
  bool FindEntry(const Module& module, uint64_t offset, PageCache* pages, CommonInformation* cie,
                 FrameDescription* fde);

  // Reads the whole entry at `address` into `buffer`.
  static bool ReadEntry(const base::Process& process, uint64_t address, char* buffer, ByteView* entry,
                        EntryHeader* header);

  base::MappedBlock<char> fde_bytes_;
  base::MappedBlock<char> cie_bytes_;
};

}  // namespace lagwatch::stack
