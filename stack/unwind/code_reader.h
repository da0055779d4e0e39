// SPDX-License-Identifier: Apache-2.0
// Code as bytes, for the places that no unwind table tells of. Context: watchdog; not thread-safe.
#pragma once

#include <cstdint>

#include "stack/module_map.h"
#include "stack/page_cache.h"
#include "stack/unwind/processor.h"

namespace lagwatch::stack {

// Borrows both.
class CodeReader {
 public:
  CodeReader(PageCache* pages, const ModuleMap* modules) : pages_(pages), modules_(modules) {}

  // False when that is not all code.
  template <size_t kBytes>
  bool Read(uint64_t address, unsigned char (&bytes)[kBytes]) const {
    static_assert(kBytes % sizeof(uint64_t) == 0);
    if (!modules_->IsCode(address)) return false;
    for (size_t i = 0; i < kBytes; i += sizeof(uint64_t)) {
      uint64_t word = 0;
      // What follows the last page of code reads as zeros.
      if (!pages_->ReadWord(address + i, &word) && i == 0) return false;
      __builtin_memcpy(bytes + i, &word, sizeof word);
    }
    return true;
  }
  // The call that returns to `address`; none when it is not a return address.
  CallSite CallBefore(uint64_t address) const {
    unsigned char bytes[kMaxCallBytes];
    if (address < kMaxCallBytes || !modules_->IsCode(address - 1) || !Read(address - kMaxCallBytes, bytes))
      return {CallSite::Kind::kNone, 0};
    return stack::CallBefore(bytes, address);
  }
  bool IsReturnAddress(uint64_t address) const { return CallBefore(address).kind != CallSite::Kind::kNone; }

 private:
  PageCache* pages_;
  const ModuleMap* modules_;
};

}  // namespace lagwatch::stack
