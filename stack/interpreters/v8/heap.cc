// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/v8/heap.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "stack/interpreters/text.h"

namespace lagwatch::stack::v8 {
namespace {

// In a string's type.
constexpr int32_t kFirstNonString = 0x80;
constexpr int32_t kRepresentation = 7;
constexpr int32_t kSequential = 0;
constexpr int32_t kCons = 1;
constexpr int32_t kExternal = 2;
constexpr int32_t kSliced = 3;
constexpr int32_t kThin = 5;
constexpr int32_t kOneByte = 8;
constexpr int32_t kUncached = 16;  // an external string's data may move

}  // namespace

void Heap::Attach(Memory* memory, const V8Layout* layout) {
  memory_ = memory;
  layout_ = layout;
  maps_.fill({});
}

int32_t Heap::TypeOf(uint64_t word) {
  uint64_t map = 0;
  uint16_t type = 0;
  if (!IsObject(word) || !ReadWord(word, 0, &map) || !IsObject(map)) return kNoType;
  KnownMap& known = maps_[(map >> 3) % maps_.size()];
  if (known.map == map) return known.type;
  if (!ReadBytes(map, layout_->instance_type, &type, sizeof type)) return kNoType;
  if (type < layout_->function_type) known = {map, type};
  return type;
}

bool Heap::IsString(uint64_t word) {
  const int32_t type = TypeOf(word);
  return type != kNoType && type < kFirstNonString;
}

bool Heap::Flatten(uint64_t word, FlatText* text) {
  constexpr int kMostSteps = 8;
  constexpr uint32_t kMostCharacters = 64 << 20;
  uint32_t length = 0;
  uint64_t skipped = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const int32_t type = TypeOf(word);
    if (type == kNoType || type >= kFirstNonString) return false;
    uint32_t own_length = 0;
    if (!ReadBytes(word, layout_->string_length, &own_length, sizeof own_length)) return false;
    if (step == 0) length = own_length;
    if (length > kMostCharacters || skipped + length > own_length) return false;
    const uint32_t char_bytes = (type & kOneByte) != 0 ? 1 : 2;
    uint64_t other = 0;
    switch (type & kRepresentation) {
      case kSequential:
        *text = {word - 1 + static_cast<uint64_t>(layout_->string_characters) + skipped * char_bytes, length,
                 char_bytes};
        return true;
      case kExternal:
        if ((type & kUncached) != 0 || !ReadWord(word, layout_->external_data, &other) || other == 0)
          return false;
        *text = {other + skipped * char_bytes, length, char_bytes};
        return true;
      case kCons: {
        uint32_t rest = 1;
        if (!ReadWord(word, layout_->cons_second, &other) || !IsString(other) ||
            !ReadBytes(other, layout_->string_length, &rest, sizeof rest) || rest != 0 ||
            !ReadWord(word, layout_->cons_first, &word))
          return false;
        break;
      }
      case kSliced:
        if (!ReadWord(word, layout_->sliced_offset, &other) || !IsSmall(other) || ToSmall(other) < 0 ||
            !ReadWord(word, layout_->sliced_parent, &word))
          return false;
        skipped += static_cast<uint64_t>(ToSmall(other));
        break;
      case kThin:
        if (!ReadWord(word, layout_->thin_actual, &word)) return false;
        break;
      default:
        return false;
    }
  }
  return false;
}

size_t Heap::ReadText(uint64_t word, char* text, size_t size_bytes) {
  size_t size = 0;
  FlatText flat;
  if (Flatten(word, &flat)) {
    AppendText(flat, text, size_bytes, &size);
    return size;
  }
  // In pieces, as the names that V8 infers.
  constexpr int kMostSteps = 32;
  std::array<uint64_t, 8> pieces{word};
  size_t count = 1;
  for (int step = 0; step < kMostSteps && count != 0; ++step) {
    const uint64_t piece = pieces[--count];
    const int32_t type = TypeOf(piece);
    if (type == kNoType || type >= kFirstNonString) return 0;
    if (Flatten(piece, &flat)) {
      AppendText(flat, text, size_bytes, &size);
    } else if ((type & kRepresentation) != kCons || count + 2 > pieces.size() ||
               !ReadWord(piece, layout_->cons_second, &pieces[count]) ||
               !ReadWord(piece, layout_->cons_first, &pieces[count + 1])) {
      return 0;
    } else {
      count += 2;
    }
  }
  return size;
}

void Heap::AppendText(const FlatText& flat, char* text, size_t size_bytes, size_t* size) {
  std::array<uint8_t, 1024> raw;
  // The end of a path says more than its beginning.
  const size_t kept = std::min<size_t>({flat.length, size_bytes, raw.size() / flat.char_bytes});
  if (kept == 0 || !memory_->Read(flat.address + (flat.length - kept) * flat.char_bytes, raw.data(),
                                  kept * flat.char_bytes))
    return;
  for (size_t i = 0; i < kept; ++i) {
    uint32_t point = raw[i];
    if (flat.char_bytes == 2) {
      uint16_t unit = 0;
      std::memcpy(&unit, &raw[2 * i], sizeof unit);
      point = unit;
      uint16_t next = 0;
      if (i + 1 < kept) std::memcpy(&next, &raw[2 * i + 2], sizeof next);
      if (unit >= 0xd800 && unit < 0xdc00 && next >= 0xdc00 && next < 0xe000) {
        point = 0x10000 + ((unit & 0x3ffU) << 10) + (next & 0x3ffU);
        ++i;
      } else if (unit >= 0xd800 && unit < 0xe000) {
        point = '?';
      }
    }
    AppendUtf8(point, text, size_bytes, size);
  }
}

}  // namespace lagwatch::stack::v8
