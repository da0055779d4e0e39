// SPDX-License-Identifier: Apache-2.0
// Texts of tags, kept for as long as the process runs, because the tag of a dispatch under way must stay
// readable. Thread safety: any thread. Context: hot; a text is made once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/hash.h"

namespace lagwatch::sdk {

class TagTexts {
 public:
  // The text of `key`, which is made of these parts, cut, if it is not known yet. Null if there is no room,
  // or another thread is making it.
  const char* Find(uint64_t key, std::string_view first, std::string_view second, std::string_view third) {
    const uint64_t hash = base::HashWord(key, base::kFnvOffsetBasis) | kLowestHash;
    for (size_t i = 0; i < kTries; ++i) {
      Text& text = texts_[(hash + i) % kTexts];
      uint64_t known = text.hash.load(std::memory_order_acquire);  // pairs with the store of a written one
      if (known == hash) return text.text;
      if (known != kFree) continue;
      if (!text.hash.compare_exchange_strong(known, kBusy, std::memory_order_relaxed)) return nullptr;
      size_t size = first.copy(text.text, kMaxBytes);
      size += second.copy(text.text + size, kMaxBytes - size);
      third.copy(text.text + size, kMaxBytes - size);
      text.hash.store(hash, std::memory_order_release);
      return text.text;
    }
    return nullptr;
  }

 private:
  static constexpr size_t kTexts = 512;
  static constexpr size_t kTries = 8;
  static constexpr size_t kMaxBytes = 31;  // as reports have them
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kBusy = 1;
  static constexpr uint64_t kLowestHash = 2;

  struct Text {
    std::atomic<uint64_t> hash{kFree};
    char text[kMaxBytes + 1] = {};
  };
  std::array<Text, kTexts> texts_{};
};

}  // namespace lagwatch::sdk
