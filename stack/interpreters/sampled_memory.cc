// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/sampled_memory.h"

#include <algorithm>
#include <cstring>

#include "base/process/safe_memory.h"

namespace lagwatch::stack {

void SampledMemory::Use(const MemoryPieces* pieces, int64_t now_ns) {
  pieces_ = pieces;
  period_ = static_cast<uint64_t>(now_ns / kPageAgeNs) + 1;
  if (pieces != nullptr && pages_ == nullptr) pages_ = base::MapBlock<Page>(kPages);
}

bool SampledMemory::ReadBytes(uint64_t address, void* destination, size_t size_bytes) {
  if (address == 0) return false;
  if (pieces_ != nullptr) {
    if (const uint8_t* piece = pieces_->Find(address, size_bytes)) {
      std::memcpy(destination, piece, size_bytes);
      return true;
    }
  }
  const bool is_by_pages =
      pieces_ != nullptr && pieces_->is_whole() && pages_ != nullptr && size_bytes <= kPageBytes;
  if (!is_by_pages) {
    ++call_count_;
    return base::ReadOwnMemory(address, destination, size_bytes) == size_bytes;
  }
  auto* out = static_cast<uint8_t*>(destination);
  while (size_bytes != 0) {
    const Page* page = Find(address / kPageBytes);
    if (page == nullptr) return false;
    const uint64_t offset = address % kPageBytes;
    const size_t part = std::min<size_t>(size_bytes, kPageBytes - offset);
    std::memcpy(out, &page->bytes[offset], part);
    out += part;
    address += part;
    size_bytes -= part;
  }
  return true;
}

const SampledMemory::Page* SampledMemory::Find(uint64_t number) {
  Page& page = pages_[number % kPages];
  if (page.number == number && page.period == period_) return &page;
  ++call_count_;
  page.number = 0;
  if (base::ReadOwnMemory(number * kPageBytes, page.bytes, kPageBytes) != kPageBytes) return nullptr;
  page.number = number;
  page.period = period_;
  return &page;
}

}  // namespace lagwatch::stack
