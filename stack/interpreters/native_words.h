// SPDX-License-Identifier: Apache-2.0
// The innermost words of the native stack of a thread that sleeps: run times keep there what it waits for.
// Among them are words of calls that are over, so each must be checked. Context: watchdog.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "stack/interpreters/memory.h"

namespace lagwatch::stack {

// Of a thread's id, in what its pthread_t points to. To be checked by the value.
inline constexpr uint64_t kGlibcTidOffset = 0x2d0;

class NativeWords {
 public:
  NativeWords(Memory* memory, uint64_t stack_pointer) : begin_(stack_pointer) {
    // The stack may end earlier.
    for (size_t count = words_.size(); count_ == 0 && count >= kFewest; count /= 2) {
      if (memory->Read(begin_, words_.data(), count * sizeof(uint64_t))) count_ = count;
    }
  }

  std::span<const uint64_t> all() const { return {words_.data(), count_}; }
  // Copies what begins at a word. False if that is not all there.
  template <typename T>
  bool ReadAt(size_t index, T* value) const {
    if (index > count_ || (count_ - index) * sizeof(uint64_t) < sizeof *value) return false;
    std::memcpy(value, &words_[index], sizeof *value);
    return true;
  }
  uint64_t AddressOf(size_t index) const { return begin_ + index * sizeof(uint64_t); }
  // Whether a word could be the address of an object outside of this stack.
  bool MayBeObject(uint64_t word) const {
    constexpr uint64_t kLowest = 1 << 16;
    constexpr int kAddressBits = 48;
    return word % sizeof(uint64_t) == 0 && word >= kLowest && word >> kAddressBits == 0 &&
           (word < begin_ || word >= AddressOf(count_));
  }

 private:
  static constexpr size_t kFewest = 32;

  uint64_t begin_;
  size_t count_ = 0;
  std::array<uint64_t, 512> words_;
};

}  // namespace lagwatch::stack
