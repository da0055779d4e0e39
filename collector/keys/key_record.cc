// SPDX-License-Identifier: Apache-2.0
#include "collector/keys/key_record.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace lagwatch::collector {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxNameBytes = 64;
constexpr std::pair<Access, std::string_view> kNames[] = {
    {Access::kProject, "project"}, {Access::kRead, "read"}, {Access::kAdmin, "admin"}};

std::optional<KeyDigest> ParseDigest(const std::string& hex) {
  const std::optional<std::string> bytes = base::FromHex(hex);
  KeyDigest digest;
  if (!bytes || bytes->size() != digest.size()) return std::nullopt;
  std::ranges::copy(*bytes, digest.begin());
  return digest;
}

char LetterOf(Access access) { return access == Access::kProject ? 'k' : NameOf(access).front(); }

}  // namespace

std::string_view NameOf(Access access) {
  return std::ranges::find(kNames, access, [](const auto& each) { return each.first; })->second;
}

std::optional<Access> AccessOf(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name, [](const auto& each) { return each.second; });
  return found == std::end(kNames) ? std::nullopt : std::optional(found->first);
}

KeyDigest DigestOf(std::string_view key) {
  KeyDigest digest;
  SHA256(reinterpret_cast<const uint8_t*>(key.data()), key.size(), digest.data());
  return digest;
}

Result<std::string> CreateKeyText(Access access) {
  std::array<uint8_t, 16> random;
  if (RAND_bytes(random.data(), random.size()) != 1)
    return Status(StatusCode::kInternal, "cannot create a key: no random bytes; try again");
  return std::string{LetterOf(access), '_'} + base::ToHex(random);
}

Status CheckKeyName(std::string_view name) {
  const bool is_good =
      !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](unsigned char c) {
        return c < 128 && (std::isalnum(c) || c == '.' || c == '-' || c == '_');
      });
  if (is_good) return {};
  return {StatusCode::kInvalid, "a key's name has up to " + std::to_string(kMaxNameBytes) +
                                    " letters, digits, dots, dashes and underscores"};
}

Json Describe(const KeyRecord& record) {
  Json json = {
      {"name", record.name}, {"access", NameOf(record.access)}, {"created_wall_ms", record.created_wall_ms}};
  if (record.expires_wall_ms != 0) json["expires_wall_ms"] = record.expires_wall_ms;
  if (record.quota.reports_per_s > 0) json["reports_per_s"] = record.quota.reports_per_s;
  if (record.quota.bytes_per_day > 0) json["bytes_per_day"] = record.quota.bytes_per_day;
  return json;
}

Json ToJson(const KeyRecord& record) {
  Json json = Describe(record);
  json["sha256"] = base::ToHex(record.digest);
  return json;
}

Result<KeyRecord> ParseKeyRecord(const Json& json) {
  try {
    KeyRecord record{.name = json.at("name"),
                     .created_wall_ms = json.value("created_wall_ms", int64_t{0}),
                     .expires_wall_ms = json.value("expires_wall_ms", int64_t{0}),
                     .quota = {.reports_per_s = json.value("reports_per_s", 0.0),
                               .bytes_per_day = json.value("bytes_per_day", uint64_t{0})}};
    if (Status name = CheckKeyName(record.name); !name.ok()) return name;
    const auto access = AccessOf(json.at("access").get<std::string>());
    const auto digest = ParseDigest(json.at("sha256"));
    if (!access || !digest)
      return Status(StatusCode::kInvalid, "the key '" + record.name + "' has no known access or no digest");
    record.access = *access;
    record.digest = *digest;
    return record;
  } catch (const nlohmann::json::exception& error) {
    return Status(StatusCode::kInvalid, std::string("a key is malformed: ") + error.what());
  }
}

}  // namespace lagwatch::collector
