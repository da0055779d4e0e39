// SPDX-License-Identifier: Apache-2.0
// Fault-proof word reads of memory that seldom changes (unwind tables), at the price of one system
// call a page.
#pragma once

#include <cstdint>

#include "base/process/own_memory.h"
#include "base/process/process.h"

namespace lagwatch::stack {

// Context: watchdog (construction: background); not thread-safe.
class PageCache {
 public:
  PageCache();

  // False when the address is not readable. Words that cross a page are read uncached. To be cleared before
  // it is used for another process.
  bool ReadWord(const base::Process& process, uint64_t address, uint64_t* word);
  // Forgets everything.
  void Clear();

 private:
  static constexpr uint64_t kPageSize = 4096;
  static constexpr uint64_t kPageCount = 128;  // direct-mapped by page number

  struct Page {
    alignas(8) char bytes[kPageSize];
  };

  uint64_t addresses_[kPageCount];  // of the pages; 0: empty
  base::MappedBlock<Page> pages_;   // not touched before they are filled; null without memory
};

}  // namespace lagwatch::stack
