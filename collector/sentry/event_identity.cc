// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/event_identity.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>

#include "collector/sentry/json_fields.h"

namespace lagwatch::collector {
namespace {

constexpr double kMaxWallS = 253'402'300'800;  // the year 10000

std::optional<int64_t> WholeMs(double seconds) {
  if (!(seconds > 0 && seconds < kMaxWallS)) return std::nullopt;
  return std::llround(seconds * 1000);
}

// "2026-11-22T06:30:00.123Z"; without a zone it is UTC, too.
std::optional<int64_t> ParseTime(const std::string& text) {
  std::tm utc{};
  int read = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
                  &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &read) != 6)
    return std::nullopt;
  std::string rest = text.substr(static_cast<size_t>(read));
  for (const char* zone : {"Z", "+00:00"})
    if (rest.ends_with(zone)) rest.resize(rest.size() - std::string_view(zone).size());
  double fraction = 0;
  if (!rest.empty()) {
    char* end = nullptr;
    fraction = rest.front() == '.' ? std::strtod(rest.c_str(), &end) : 1;
    if (end == nullptr || *end != '\0' || !(fraction >= 0 && fraction < 1)) return std::nullopt;
  }
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  return WholeMs(static_cast<double>(timegm(&utc)) + fraction);
}

}  // namespace

std::optional<int64_t> EventWallMs(const nlohmann::json& event) {
  const nlohmann::json& timestamp = Child(event, "timestamp");
  if (timestamp.is_number()) return WholeMs(timestamp.get<double>());
  return timestamp.is_string() ? ParseTime(TextOf(event, "timestamp")) : std::nullopt;
}

std::optional<base::Uuid> ParseEventId(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '-');
  if (digits.size() != 32) return std::nullopt;
  for (const size_t at : {20, 16, 12, 8}) digits.insert(at, 1, '-');
  std::ranges::transform(digits, digits.begin(), [](unsigned char c) { return std::tolower(c); });
  return base::TryParseUuid(digits);
}

// The time replaces the first bytes, which are folded into the last ones to keep ids distinct.
base::Uuid ReportIdOf(int64_t wall_ms, const base::Uuid& event_id) {
  constexpr size_t kTimeBytes = 6;
  base::Uuid id = event_id;
  for (size_t i = 0; i < kTimeBytes; ++i) {
    id.bytes[id.bytes.size() - kTimeBytes + i] ^= event_id.bytes[i];
    id.bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(wall_ms) >> (8 * (kTimeBytes - 1 - i)));
  }
  id.bytes[6] = static_cast<uint8_t>(0x70 | (id.bytes[6] & 0x0f));
  id.bytes[8] = static_cast<uint8_t>(0x80 | (id.bytes[8] & 0x3f));
  return id;
}

}  // namespace lagwatch::collector
