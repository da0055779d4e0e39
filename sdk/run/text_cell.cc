// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/text_cell.h"

#include <cstring>

namespace lagwatch::sdk {
namespace {

// The longest part of `text` that fits and does not end within a UTF-8 character.
size_t CutSize(const char* text) {
  size_t size = strnlen(text, TextCell::kMaxBytes + 1);
  if (size <= TextCell::kMaxBytes) return size;
  auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
  size = TextCell::kMaxBytes;
  while (size > 0 && continues(text[size])) --size;
  return size;
}

}  // namespace

void TextCell::Set(const char* text) {
  uint64_t words[kMaxBytes / sizeof(uint64_t)] = {};
  if (text != nullptr) std::memcpy(words, text, CutSize(text));
  for (size_t i = 0; i < kSlots; ++i) {
    uint64_t number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
    Slot& slot = slots_[number % kSlots];
    uint64_t seen = slot.sequence.load(std::memory_order_relaxed);
    // One whose writer does not get on, or that a later writer has overtaken, is passed by.
    if (seen % 2 != 0 || seen > 2 * number) continue;
    if (!slot.sequence.compare_exchange_strong(seen, 2 * number - 1, std::memory_order_acquire)) continue;
    // Release, each: a reader of a new word must also see that the slot is being written.
    for (size_t word = 0; word < slot.words.size(); ++word) {
      slot.words[word].store(words[word], std::memory_order_release);
    }
    slot.sequence.store(2 * number, std::memory_order_release);
    return;
  }
}

uint64_t TextCell::Read(char (&text)[kMaxBytes]) const {
  uint64_t best = 0;
  std::memset(text, 0, sizeof text);
  for (const Slot& slot : slots_) {
    uint64_t sequence = slot.sequence.load(std::memory_order_acquire);
    if (sequence % 2 != 0 || sequence <= best) continue;
    uint64_t words[kMaxBytes / sizeof(uint64_t)];
    for (size_t word = 0; word < slot.words.size(); ++word) {
      words[word] = slot.words[word].load(std::memory_order_acquire);
    }
    if (slot.sequence.load(std::memory_order_relaxed) != sequence) continue;
    best = sequence;
    std::memcpy(text, words, sizeof text);
  }
  return best / 2;
}

}  // namespace lagwatch::sdk
