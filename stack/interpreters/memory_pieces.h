// SPDX-License-Identifier: Apache-2.0
// Pieces of memory as they were at one moment, such as the frames of an interpreted thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/hash.h"
#include "base/process/safe_memory.h"

namespace lagwatch::stack {

// Plain data without initializers. Thread safety: none. Context: signal.
class MemoryPieces {
 public:
  static constexpr size_t kMostPieces = 160;
  static constexpr size_t kMostBytes = 40 << 10;

  void Clear() {
    count_ = 0;
    size_bytes_ = 0;
    is_whole_ = false;
    key_ = base::kFnvOffsetBasis;
  }
  // Copies memory of this process; returns the copy, null if it cannot be read or there is no room. One
  // system call.
  const uint8_t* Copy(uint64_t address, size_t size_bytes) {
    if (count_ == kMostPieces || size_bytes > kMostBytes - size_bytes_ || address == 0) return nullptr;
    uint8_t* copy = &bytes_[size_bytes_];
    if (base::ReadOwnMemory(address, copy, size_bytes) != size_bytes) return nullptr;
    pieces_[count_++] = {address, static_cast<uint32_t>(size_bytes), static_cast<uint32_t>(size_bytes_)};
    size_bytes_ += size_bytes;
    return copy;
  }
  // The bytes that were at `address`; null where not all of them were copied.
  const uint8_t* Find(uint64_t address, size_t size_bytes) const {
    for (size_t i = 0; i < std::min(count_, kMostPieces); ++i) {
      const Piece& piece = pieces_[i];
      const uint64_t offset = address - piece.address;
      if (offset < piece.size_bytes && size_bytes <= piece.size_bytes - offset)
        return &bytes_[piece.at + offset];
    }
    return nullptr;
  }
  // All memory that may have changed by the time that the pieces are read is among them.
  void MarkWhole() { is_whole_ = true; }
  bool is_whole() const { return is_whole_; }
  // A part of what distinguishes the script frames: of whole pieces, equal keys mean equal functions and
  // lines.
  void AddToKey(uint64_t word) { key_ = base::HashWord(word, key_); }
  uint64_t key() const { return key_; }

 private:
  struct Piece {
    uint64_t address;
    uint32_t size_bytes;
    uint32_t at;  // in bytes_
  };

  size_t count_;
  size_t size_bytes_;
  bool is_whole_;
  uint64_t key_;
  std::array<Piece, kMostPieces> pieces_;
  std::array<uint8_t, kMostBytes> bytes_;
};

}  // namespace lagwatch::stack
