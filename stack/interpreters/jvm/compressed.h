// SPDX-License-Identifier: Apache-2.0
// HotSpot's compressed numbers, and what it keeps by them: tables of lines, and the calls that compiled code
// has inlined. Source: share/utilities/unsigned5.hpp, share/code/compressedStream.cpp. Context: any; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lagwatch::stack::jvm {

// Any bytes may be given: behind the last one there are zeros.
class CompressedReader {
 public:
  // `has_no_zero_bytes`: Layout's.
  CompressedReader(std::span<const uint8_t> bytes, bool has_no_zero_bytes)
      : bytes_(bytes), least_(has_no_zero_bytes ? 1 : 0) {}

  bool is_at_end() const { return at_ >= bytes_.size(); }
  uint8_t ReadByte() { return is_at_end() ? 0 : bytes_[at_++]; }
  uint32_t ReadUnsigned();
  int32_t ReadSigned() {
    const uint32_t value = ReadUnsigned();
    return static_cast<int32_t>(value >> 1 ^ (0 - (value & 1)));
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  uint32_t least_;
};

// The line of the bytecode at index `bci`, from a method's table; 0 where that names none.
uint32_t LineOf(std::span<const uint8_t> table, bool has_no_zero_bytes, uint32_t bci);

}  // namespace lagwatch::stack::jvm
