// SPDX-License-Identifier: Apache-2.0
// The words of a captured thread's stack: out of the copy where they are in it, else as they are now.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "stack/frames/raw_stack.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::v8 {

class StackWords {
 public:
  // Both are borrowed.
  StackWords(const RawStack& raw, Memory* memory) : raw_(raw), memory_(memory) {}

  bool Read(uint64_t address, std::span<uint64_t> words) const {
    const uint64_t at = address - raw_.address;
    if (at <= raw_.size_bytes && words.size_bytes() <= raw_.size_bytes - at) {
      std::memcpy(words.data(), raw_.bytes + at, words.size_bytes());
      return true;
    }
    return memory_->Read(address, words.data(), words.size_bytes());
  }

 private:
  const RawStack& raw_;
  Memory* memory_;
};

}  // namespace lagwatch::stack::v8
