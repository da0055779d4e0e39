// SPDX-License-Identifier: Apache-2.0
#include "stack/code/page_cache.h"

#include <cstring>

namespace lagwatch::stack {

PageCache::PageCache() : pages_(base::MapOwnBlock<Page>(kPageCount)) { Clear(); }

bool PageCache::ReadWord(const base::Process& process, uint64_t address, uint64_t* word) {
  uint64_t page_address = address & ~(kPageSize - 1);
  uint64_t offset = address - page_address;
  if (offset > kPageSize - sizeof *word || pages_ == nullptr) return process.ReadValue(address, word);
  const uint64_t slot = (page_address / kPageSize) % kPageCount;
  Page& page = pages_[slot];
  if (addresses_[slot] != page_address || page_address == 0) {
    addresses_[slot] = 0;
    if (process.Read(page_address, page.bytes, kPageSize) != kPageSize) return false;
    addresses_[slot] = page_address;
  }
  std::memcpy(word, page.bytes + offset, sizeof *word);
  return true;
}

void PageCache::Clear() {
  for (uint64_t& address : addresses_) address = 0;
}

}  // namespace lagwatch::stack
