// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/objects.h"

#include <algorithm>
#include <cstring>

#include "stack/interpreters/jvm/compressed.h"

namespace lagwatch::stack::jvm {
namespace {

constexpr uint64_t kClassOffset = 8;      // in an object, after its header
constexpr uint64_t kArrayDataOffset = 4;  // in an array of bytes or shorts, after its length
constexpr size_t kMostNameBytes = 64;

}  // namespace

uint64_t Objects::ReadReference(uint64_t object, const FieldName& name) {
  const uint64_t klass = ClassOf(object);
  if (klass == 0) return 0;
  const std::optional<uint32_t> offset = FindField(klass, name);
  uint32_t narrow = 0;
  uint64_t wide = 0;
  if (!offset || !memory_->Read(object + *offset, &narrow)) return 0;
  if (narrow == 0) return 0;
  const uint64_t decompressed = Decompress(narrow, layout_->narrow_oop_base, layout_->narrow_oop_shift);
  if (ClassOf(decompressed) != 0) return decompressed;
  return memory_->Read(object + *offset, &wide) && ClassOf(wide) != 0 ? wide : 0;
}

uint64_t Objects::ClassOf(uint64_t object) {
  uint64_t wide = 0;
  if (object == 0 || object % 8 != 0 || !memory_->Read(object + kClassOffset, &wide)) return 0;
  const uint64_t klass =
      Decompress(static_cast<uint32_t>(wide), layout_->narrow_class_base, layout_->narrow_class_shift);
  if (IsClass(klass)) return klass;
  return IsClass(wide) ? wide : 0;
}

// A class's pool of constants names the class.
bool Objects::IsClass(uint64_t klass) {
  uint64_t pool = 0;
  uint64_t holder = 0;
  return klass != 0 && klass % 8 == 0 && memory_->Read(klass + layout_->class_constants, &pool) &&
         pool != 0 && memory_->Read(pool + layout_->pool_holder, &holder) && holder == klass;
}

uint64_t Objects::Decompress(uint32_t value, uint64_t base_address, uint64_t shift_address) {
  uint64_t base = 0;
  uint32_t shift = 0;
  if (!memory_->Read(base_address, &base) || !memory_->Read(shift_address, &shift) || shift > 12) return 0;
  return base + (uint64_t{value} << shift);
}

std::optional<uint32_t> Objects::FindField(uint64_t klass, const FieldName& name) {
  for (int i = 0; i < kMostSuperclasses && IsClass(klass); ++i) {
    for (size_t j = 0; j < known_count_; ++j) {
      if (known_[j].klass == klass && known_[j].name == name) return known_[j].offset;
    }
    uint64_t symbol = 0;
    uint64_t pool = 0;
    if (!memory_->Read(klass + layout_->class_name, &symbol) ||
        !memory_->Read(klass + layout_->class_constants, &pool))
      return std::nullopt;
    if (IsNamed(symbol, name.type)) {
      const std::optional<uint32_t> offset = ReadOffset(klass, pool, name.field);
      if (offset && known_count_ < known_.size()) known_[known_count_++] = {name, klass, *offset};
      return offset;
    }
    if (!memory_->Read(klass + layout_->super_class, &klass)) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<uint32_t> Objects::ReadOffset(uint64_t klass, uint64_t pool, std::string_view field) {
  uint64_t array = 0;
  uint32_t length = 0;
  const bool is_stream = layout_->field_stream != kNone;
  if (!memory_->Read(klass + (is_stream ? layout_->field_stream : layout_->fields), &array) ||
      !memory_->Read(array, &length))
    return std::nullopt;
  const size_t bytes = std::min<uint64_t>(uint64_t{length} * (is_stream ? 1 : 2), fields_.size());
  if (!memory_->Read(array + kArrayDataOffset, fields_.data(), bytes)) return std::nullopt;
  if (!is_stream) {
    // Name, and the offset in two halves, of which the lowest two bits are a mark.
    constexpr size_t kSlots = 6;
    for (size_t at = 0; at + kSlots * 2 <= bytes; at += kSlots * 2) {
      uint16_t slots[kSlots];
      std::memcpy(slots, &fields_[at], sizeof slots);
      if (IsPoolName(pool, slots[1], field)) return (uint32_t{slots[5]} << 16 | slots[4]) >> 2;
    }
    return std::nullopt;
  }
  // Of each: name, signature, offset, access, flags, and a number for each of three flags.
  CompressedReader reader({fields_.data(), bytes}, layout_->has_no_zero_bytes());
  const uint32_t count = reader.ReadUnsigned();
  reader.ReadUnsigned();  // of those that the JVM adds
  for (uint32_t i = 0; i < count && !reader.is_at_end(); ++i) {
    constexpr uint32_t kFlagsWithNumber = 1 | 1 << 2 | 1 << 4;  // initialized, generic, contended
    const uint32_t name = reader.ReadUnsigned();
    reader.ReadUnsigned();
    const uint32_t offset = reader.ReadUnsigned();
    reader.ReadUnsigned();
    const uint32_t flags = reader.ReadUnsigned();
    if (IsPoolName(pool, name, field)) return offset;
    for (uint32_t rest = flags & kFlagsWithNumber; rest != 0; rest &= rest - 1) reader.ReadUnsigned();
  }
  return std::nullopt;
}

bool Objects::IsNamed(uint64_t symbol, std::string_view name) {
  uint16_t length = 0;
  char text[kMostNameBytes];
  return symbol != 0 && name.size() <= sizeof text &&
         memory_->Read(symbol + layout_->symbol_length, &length) && length == name.size() &&
         memory_->Read(symbol + layout_->symbol_body, text, length) && std::string_view(text, length) == name;
}

bool Objects::IsPoolName(uint64_t pool, uint32_t index, std::string_view name) {
  uint64_t symbol = 0;
  return memory_->Read(pool + layout_->pool_bytes + uint64_t{index} * sizeof symbol, &symbol) &&
         IsNamed(symbol, name);
}

}  // namespace lagwatch::stack::jvm
