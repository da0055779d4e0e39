// SPDX-License-Identifier: Apache-2.0
// UUID version 7 (RFC 9562): sorts by time of creation, so ids are also an order.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lagwatch::base {

struct Uuid {
  std::array<uint8_t, 16> bytes{};

  auto operator<=>(const Uuid&) const = default;
  std::string_view as_bytes() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// A new id for `wall_ms`, the rest random (FillRandom()). Context: watchdog.
Uuid CreateUuidV7(int64_t wall_ms);

// 36 characters, lower case. Writes no terminator. Context: watchdog.
inline constexpr int kUuidTextSize = 36;
void FormatUuid(const Uuid& uuid, char (&text)[kUuidTextSize]);

// Context: background.
std::string ToString(const Uuid& uuid);
std::optional<Uuid> TryParseUuid(std::string_view text);
std::optional<Uuid> TryUuidFromBytes(std::string_view bytes);

}  // namespace lagwatch::base
