// SPDX-License-Identifier: Apache-2.0
// A short text set by the program: any thread sets it, any reads it, and none waits for another.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lagwatch::sdk {

// Thread safety: all methods from any thread; none waits for another one. Context: any, signal included.
class TextCell {
 public:
  static constexpr size_t kMaxBytes = 64;  // without a terminator

  // Copies `text`; a longer text is cut off between two characters. Null is an empty text.
  void Set(const char* text);
  // Writes the last text, filled up with zeros, and returns its number: 0 when none was ever set. One that is
  // being set right now is not seen yet.
  uint64_t Read(char (&text)[kMaxBytes]) const;
  // Of the text that was set last, or is being set right now.
  uint64_t number() const { return last_number_.load(std::memory_order_relaxed); }

 private:
  // Writers take one after the other, so that none has to wait for another that does not get on.
  struct Slot {
    std::atomic<uint64_t> sequence{0};  // odd while being written; the text's number times two when whole
    std::array<std::atomic<uint64_t>, kMaxBytes / sizeof(uint64_t)> words{};
  };
  static constexpr size_t kSlots = 8;

  std::atomic<uint64_t> last_number_{0};
  std::array<Slot, kSlots> slots_;
};

}  // namespace lagwatch::sdk
