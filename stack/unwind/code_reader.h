// SPDX-License-Identifier: Apache-2.0
// Reads code as bytes, for places without an unwind table. Context: watchdog; not thread-safe.
#pragma once

#include <cstdint>

#include "stack/code/module_map.h"
#include "stack/code/page_cache.h"
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
    const ModuleMap::CodeRange* range = modules_->FindRange(address);
    if (range == nullptr) return false;
    if (range->module == kNoModule) return ReadChangingCode(address, bytes, kBytes);
    for (size_t i = 0; i < kBytes; i += sizeof(uint64_t)) {
      uint64_t word = 0;
      // Bytes after the last page of code read as zeros.
      if (!pages_->ReadWord(process(), address + i, &word) && i == 0) return false;
      __builtin_memcpy(bytes + i, &word, sizeof word);
    }
    return true;
  }
  // The call that returns to `address`; none when it is not a return address.
  CallSite CallBefore(uint64_t address) const {
    unsigned char bytes[kMaxCallBytes];
    if (address < kMaxCallBytes || !modules_->IsCode(address - 1) || !Read(address - kMaxCallBytes, bytes))
      return {CallSite::CallForm::kNone, 0};
    return stack::CallBefore(bytes, address);
  }
  bool IsReturnAddress(uint64_t address) const {
    return CallBefore(address).kind != CallSite::CallForm::kNone;
  }

  const base::Process& process() const { return modules_->process(); }

 private:
  // Code made at run time may change at any moment, so it is never cached. Bytes after its last page
  // read as zeros.
  bool ReadChangingCode(uint64_t address, unsigned char* bytes, size_t size_bytes) const {
    const size_t got = process().Read(address, bytes, size_bytes);
    if (got < size_bytes) __builtin_memset(bytes + got, 0, size_bytes - got);
    return got != 0;
  }

  PageCache* pages_;
  const ModuleMap* modules_;
};

}  // namespace lagwatch::stack
