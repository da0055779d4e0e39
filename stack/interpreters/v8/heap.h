// SPDX-License-Identifier: Apache-2.0
// Objects and strings on V8's heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/interpreters/memory.h"
#include "stack/interpreters/v8/layout.h"

namespace lagwatch::stack::v8 {

// A pointer to a heap object has a set lowest bit; a small integer is in the upper half of its word.
constexpr bool IsObject(uint64_t word) { return (word & 3) == 1; }
constexpr bool IsSmall(uint64_t word) { return (word & UINT32_MAX) == 0; }
constexpr int32_t ToSmall(uint64_t word) { return static_cast<int32_t>(word >> 32); }

// In arrays, of bytes and of words.
inline constexpr int32_t kArrayLength = 8;
inline constexpr int32_t kArrayContent = 16;

// The characters of a string, in one piece.
struct FlatText {
  uint64_t address;
  uint32_t length;      // in characters
  uint32_t char_bytes;  // 1 or 2
};

// Every object is checked by its type before it is used. Context: watchdog; not thread-safe.
class Heap {
 public:
  static constexpr int32_t kNoType = -1;

  // Both are borrowed.
  void Attach(Memory* memory, const V8Layout* layout);

  // The type of the object that `word` points to; kNoType if it does not point to one.
  int32_t TypeOf(uint64_t word);
  bool IsOfType(uint64_t word, int32_t type) { return TypeOf(word) == type; }
  bool IsString(uint64_t word);
  // The word at `offset` of an object.
  bool ReadWord(uint64_t object, int32_t offset, uint64_t* word) {
    return memory_->Read(object - 1 + static_cast<uint64_t>(int64_t{offset}), word);
  }
  bool ReadBytes(uint64_t object, int32_t offset, void* bytes, size_t size_bytes) {
    return memory_->Read(object - 1 + static_cast<uint64_t>(int64_t{offset}), bytes, size_bytes);
  }
  // False if `word` is no string, or one in pieces.
  bool Flatten(uint64_t word, FlatText* text);
  // Writes the last characters that fit, or the first ones of a string in pieces, as UTF-8; returns their
  // size, 0 if it is no string.
  size_t ReadText(uint64_t word, char* text, size_t size_bytes);
  Memory& memory() const { return *memory_; }

 private:
  void AppendText(const FlatText& flat, char* text, size_t size_bytes, size_t* size);

  // The maps of V8's own kinds of objects lie in memory that never moves; those of scripts' objects may.
  struct KnownMap {
    uint64_t map = 0;
    int32_t type = kNoType;
  };

  Memory* memory_ = nullptr;
  const V8Layout* layout_ = nullptr;
  std::array<KnownMap, 128> maps_{};
};

}  // namespace lagwatch::stack::v8
