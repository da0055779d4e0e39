// SPDX-License-Identifier: Apache-2.0
// Reads DWARF's encodings from untrusted bytes. Context: watchdog, background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lagwatch::stack {

// A copy of memory and where it was.
struct ByteView {
  const char* bytes = nullptr;
  size_t size = 0;
  uint64_t address = 0;  // of bytes[0]
};

// The encodings of pointers in .eh_frame (Linux Standard Base, "DWARF Exception Header Encoding").
namespace pointer_encoding {
inline constexpr uint8_t kAbsolute = 0x00;
inline constexpr uint8_t kUleb = 0x01;
inline constexpr uint8_t kUdata2 = 0x02;
inline constexpr uint8_t kUdata4 = 0x03;
inline constexpr uint8_t kUdata8 = 0x04;
inline constexpr uint8_t kSleb = 0x09;
inline constexpr uint8_t kSdata2 = 0x0a;
inline constexpr uint8_t kSdata4 = 0x0b;
inline constexpr uint8_t kSdata8 = 0x0c;
inline constexpr uint8_t kFormatMask = 0x0f;
inline constexpr uint8_t kRelativeMask = 0x70;
inline constexpr uint8_t kPcRelative = 0x10;
inline constexpr uint8_t kDataRelative = 0x30;
inline constexpr uint8_t kIndirect = 0x80;
inline constexpr uint8_t kOmitted = 0xff;
}  // namespace pointer_encoding

// Once a read goes past the end, ok() is false and every further read yields 0.
class ByteCursor {
 public:
  explicit ByteCursor(const ByteView& view) : view_(view) {}

  bool ok() const { return ok_; }
  bool at_end() const { return position_ >= view_.size; }
  uint64_t address() const { return view_.address + position_; }
  size_t position() const { return position_; }
  size_t remaining() const { return view_.size - position_; }

  template <typename T>
  T Read() {
    T value{};
    if (!Has(sizeof value)) return value;
    std::memcpy(&value, view_.bytes + position_, sizeof value);
    position_ += sizeof value;
    return value;
  }
  uint8_t U8() { return Read<uint8_t>(); }

  uint64_t Uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      uint8_t byte = U8();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  int64_t Sleb() {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
      byte = U8();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }

  // `data_base` is what data-relative encodings count from. An indirect pointer yields where it points to.
  uint64_t Pointer(uint8_t encoding, uint64_t data_base) {
    using namespace pointer_encoding;
    if (encoding == kOmitted) return 0;
    uint64_t base = 0;
    switch (encoding & kRelativeMask) {
      case kAbsolute:
        break;
      case kPcRelative:
        base = address();
        break;
      case kDataRelative:
        base = data_base;
        break;
      default:
        ok_ = false;
        return 0;
    }
    return base + PointerValue(encoding & kFormatMask);
  }

  void Skip(uint64_t size) {
    if (Has(size)) position_ += size;
  }
  // The next `size` bytes, which are skipped; empty when there are not as many.
  ByteView Take(uint64_t size) {
    if (!Has(size)) return {};
    ByteView taken{view_.bytes + position_, size, address()};
    position_ += size;
    return taken;
  }

 private:
  bool Has(uint64_t size) {
    if (ok_ && size <= view_.size - position_) return true;
    ok_ = false;
    position_ = view_.size;
    return false;
  }
  uint64_t PointerValue(uint8_t format) {
    using namespace pointer_encoding;
    switch (format) {
      case kAbsolute:
      case kUdata8:
      case kSdata8:
        return Read<uint64_t>();
      case kUleb:
        return Uleb();
      case kSleb:
        return static_cast<uint64_t>(Sleb());
      case kUdata2:
        return Read<uint16_t>();
      case kUdata4:
        return Read<uint32_t>();
      case kSdata2:
        return static_cast<uint64_t>(int64_t{Read<int16_t>()});
      case kSdata4:
        return static_cast<uint64_t>(int64_t{Read<int32_t>()});
      default:
        ok_ = false;
        return 0;
    }
  }

  ByteView view_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace lagwatch::stack
