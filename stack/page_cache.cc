// SPDX-License-Identifier: Apache-2.0
#include "stack/page_cache.h"

#include <cstring>

#include "base/safe_memory.h"

namespace lagwatch::stack {

PageCache::PageCache() : pages_(new Page[kPageCount]) { Clear(); }

bool PageCache::ReadWord(uint64_t address, uint64_t* word) {
  uint64_t page_address = address & ~(kPageSize - 1);
  uint64_t offset = address - page_address;
  if (offset > kPageSize - sizeof *word) return base::ReadOwnValue(address, word);
  Page& page = pages_[(page_address / kPageSize) % kPageCount];
  if (page.address != page_address || page_address == 0) {
    page.address = 0;
    if (base::ReadOwnMemory(page_address, page.bytes, kPageSize) != kPageSize) return false;
    page.address = page_address;
  }
  std::memcpy(word, page.bytes + offset, sizeof *word);
  return true;
}

void PageCache::Clear() {
  for (uint64_t i = 0; i < kPageCount; ++i) pages_[i].address = 0;
}

}  // namespace lagwatch::stack
