// SPDX-License-Identifier: Apache-2.0
// A key as the collector stores it: its rights, and the digest of its text, never the text.
// Context: background; pure.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::collector {

// A bit each, so that an endpoint can name several.
enum class Access : uint8_t {
  kProject = 1,  // sends reports and asks for the clients' config: what programs carry
  kRead = 2,     // sees everything, changes nothing
  kAdmin = 4,    // everything
};
std::string_view NameOf(Access access);  // "project", "read", "admin"
std::optional<Access> AccessOf(std::string_view name);

struct Quota {
  double reports_per_s = 0;    // 0: no limit
  uint64_t bytes_per_day = 0;  // as sent; 0: no limit
};

using KeyDigest = std::array<uint8_t, 32>;  // SHA-256

struct KeyRecord {
  std::string name;  // unique; letters, digits, dots, dashes and underscores
  Access access = Access::kProject;
  KeyDigest digest{};
  int64_t created_wall_ms = 0;
  int64_t expires_wall_ms = 0;  // 0: never
  Quota quota = {};

  bool IsExpired(int64_t now_wall_ms) const { return expires_wall_ms != 0 && now_wall_ms >= expires_wall_ms; }
};

KeyDigest DigestOf(std::string_view key);

// Returns a new random key of 128 bits, whose first letter is its kind: k_…, r_… or a_…. Errors: kInternal if
// there are no random bytes.
base::Result<std::string> CreateKeyText(Access access);

// Errors: kInvalid.
base::Status CheckKeyName(std::string_view name);

// Without the digest: what people are shown.
nlohmann::ordered_json Describe(const KeyRecord& record);
// Including the digest.
nlohmann::ordered_json ToJson(const KeyRecord& record);
// Errors: kInvalid.
base::Result<KeyRecord> ParseKeyRecord(const nlohmann::ordered_json& json);

}  // namespace lagwatch::collector
