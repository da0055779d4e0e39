// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/v8/lines.h"

#include <algorithm>
#include <cstring>

namespace lagwatch::stack::v8 {
namespace {

// Signed numbers of 7 bits a byte, the lowest first, the sign in the lowest bit.
class NumberReader {
 public:
  explicit NumberReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool is_at_end() const { return place_ >= bytes_.size(); }
  int64_t Next() {
    uint64_t value = 0;
    for (int shift = 0; shift < 63 && !is_at_end(); shift += 7) {
      const uint8_t byte = bytes_[place_++];
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t place_ = 0;
};

template <typename Character>
uint32_t CountLineEnds(const uint8_t* bytes, uint32_t count, bool has_next) {
  constexpr uint32_t kLineSeparator = 0x2028;
  constexpr uint32_t kParagraphSeparator = 0x2029;
  const auto at = [&](uint32_t i) {
    Character character;
    std::memcpy(&character, bytes + i * sizeof character, sizeof character);
    return static_cast<uint32_t>(character);
  };
  uint32_t line_ends = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t character = at(i);
    line_ends += character == '\n' || character == kLineSeparator || character == kParagraphSeparator;
    if (character == '\r') [[unlikely]] {
      const bool is_followed = (i + 1 < count || has_next) && at(i + 1) == '\n';
      line_ends += !is_followed;
    }
  }
  return line_ends;
}

}  // namespace

Position DecodePosition(uint64_t raw) {
  const bool is_external = (raw & 1) != 0;  // in a file of V8's own
  if (is_external) return {};
  return {.offset = static_cast<int32_t>(raw >> 1 & 0x3fffffff) - 1,
          .inlining = static_cast<int32_t>(raw >> 31 & 0xffff) - 1};
}

Position PositionAt(std::span<const uint8_t> table, int64_t code_offset) {
  NumberReader numbers(table);
  int64_t entry_offset = -1;  // that of a function's entry
  uint64_t raw = 0;
  Position found;
  while (!numbers.is_at_end()) {
    const int64_t step = numbers.Next();
    entry_offset += step >= 0 ? step : -(step + 1);  // negative: an expression's entry
    if (entry_offset > code_offset) break;
    raw += static_cast<uint64_t>(numbers.Next());
    found = DecodePosition(raw);
  }
  return found;
}

uint32_t LineCounter::Find(Memory* memory, uint64_t key, const FlatText& source, uint32_t position) {
  if (position > source.length) return 0;
  Line& line = lines_[(key >> 3 ^ position * uint64_t{2654435761}) % lines_.size()];
  if (line.line != 0 && line.key == key && line.source == source.address && line.position == position)
    return line.line;
  auto script = std::ranges::find_if(scripts_, [&](const Script& known) {
    return known.key == key && known.source == source.address && known.length == source.length;
  });
  if (script == scripts_.end()) {
    script = scripts_.begin() + next_script_++ % scripts_.size();
    script->key = key;
    script->source = source.address;
    script->length = source.length;
    script->known = 1;
    script->lines[0] = 0;
  }
  const uint32_t block_characters = kBlockBytes / source.char_bytes;
  const uint32_t block = position / block_characters;
  if (block >= kMostBlocks) return 0;
  uint32_t line_ends = 0;
  for (; script->known <= block; ++script->known) {
    const uint32_t last = script->known - 1;
    if (!CountBlock(memory, source, last * block_characters, block_characters, &line_ends)) return 0;
    script->lines[script->known] = script->lines[last] + line_ends;
  }
  if (!CountBlock(memory, source, block * block_characters, position % block_characters, &line_ends))
    return 0;
  line = {key, source.address, position, script->lines[block] + line_ends + 1};
  return line.line;
}

bool LineCounter::CountBlock(Memory* memory, const FlatText& source, uint32_t first, uint32_t count,
                             uint32_t* line_ends) {
  *line_ends = 0;
  if (count == 0) return true;
  const bool has_next = first + count < source.length;
  const uint64_t size = uint64_t{count + has_next} * source.char_bytes;
  if (size > bytes_left_) return false;
  bytes_left_ -= size;
  if (!memory->Read(source.address + uint64_t{first} * source.char_bytes, bytes_.data(), size)) return false;
  *line_ends = source.char_bytes == 1 ? CountLineEnds<uint8_t>(bytes_.data(), count, has_next)
                                      : CountLineEnds<uint16_t>(bytes_.data(), count, has_next);
  return true;
}

}  // namespace lagwatch::stack::v8
