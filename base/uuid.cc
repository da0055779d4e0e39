// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <cstring>

#include "base/system/random.h"

namespace lagwatch::base {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

constexpr bool IsDashPosition(int position) {
  return position == 8 || position == 13 || position == 18 || position == 23;
}

}  // namespace

Uuid CreateUuidV7(int64_t wall_ms) {
  Uuid uuid;
  FillRandom(uuid.bytes.data(), uuid.bytes.size());
  for (int i = 0; i < 6; ++i) uuid.bytes[i] = static_cast<uint8_t>(wall_ms >> (8 * (5 - i)));
  uuid.bytes[6] = 0x70 | (uuid.bytes[6] & 0x0f);
  uuid.bytes[8] = 0x80 | (uuid.bytes[8] & 0x3f);
  return uuid;
}

void FormatUuid(const Uuid& uuid, char (&text)[kUuidTextSize]) {
  int position = 0;
  for (uint8_t byte : uuid.bytes) {
    if (IsDashPosition(position)) text[position++] = '-';
    text[position++] = kHexDigits[byte >> 4];
    text[position++] = kHexDigits[byte & 0x0f];
  }
}

std::string ToString(const Uuid& uuid) {
  char text[kUuidTextSize];
  FormatUuid(uuid, text);
  return {text, sizeof text};
}

std::optional<Uuid> TryParseUuid(std::string_view text) {
  if (text.size() != kUuidTextSize) return std::nullopt;
  Uuid uuid;
  int nibble = 0;
  for (int position = 0; position < kUuidTextSize; ++position) {
    if (IsDashPosition(position)) {
      if (text[position] != '-') return std::nullopt;
      continue;
    }
    int value = HexValue(text[position]);
    if (value < 0) return std::nullopt;
    uuid.bytes[nibble / 2] = static_cast<uint8_t>(uuid.bytes[nibble / 2] << 4 | value);
    ++nibble;
  }
  return uuid;
}

std::optional<Uuid> TryUuidFromBytes(std::string_view bytes) {
  Uuid uuid;
  if (bytes.size() != uuid.bytes.size()) return std::nullopt;
  std::memcpy(uuid.bytes.data(), bytes.data(), bytes.size());
  return uuid;
}

}  // namespace lagwatch::base
