// SPDX-License-Identifier: Apache-2.0
// Memory that never changes once it is loaded, such as tables of functions: read by pages, which are kept.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "stack/interpreters/memory.h"

namespace lagwatch::stack::go {

// Zeros are an empty one. Context: watchdog; not thread-safe. Large: not for the stack.
class ConstantPages {
 public:
  // Borrowed.
  void UseMemory(Memory* memory) { memory_ = memory; }
  Memory* memory() const { return memory_; }

  // False unless all of it could be read.
  bool Read(uint64_t address, void* destination, size_t size_bytes) {
    auto* bytes = static_cast<uint8_t*>(destination);
    while (size_bytes != 0) {
      const uint64_t at = address % kPageBytes;
      const size_t count = std::min<uint64_t>(size_bytes, kPageBytes - at);
      const Page* page = Find(address / kPageBytes);
      if (page == nullptr) return false;
      std::memcpy(bytes, &page->bytes[at], count);
      bytes += count;
      address += count;
      size_bytes -= count;
    }
    return true;
  }
  template <typename T>
  bool Read(uint64_t address, T* value) {
    return Read(address, value, sizeof *value);
  }

 private:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr size_t kPages = 256;

  struct Page {
    uint64_t number;  // its address by kPageBytes; 0: free
    uint8_t bytes[kPageBytes];
  };

  const Page* Find(uint64_t number) {
    if (number == 0) return nullptr;
    Page& page = pages_[number % kPages];
    if (page.number == number) return &page;
    page.number = 0;
    if (!memory_->Read(number * kPageBytes, page.bytes, kPageBytes)) return nullptr;
    page.number = number;
    return &page;
  }

  Memory* memory_ = nullptr;
  std::array<Page, kPages> pages_{};
};

}  // namespace lagwatch::stack::go
