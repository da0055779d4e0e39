// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/clock.h"
#include "collector/admin/admin_requests.h"
#include "collector/admin/refusals.h"
#include "collector/query/json/json_text.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kMaxSeconds = int64_t{100} * 366 * 86'400;

// A whole number of seconds, as milliseconds.
int64_t MsOf(const Json& json, const char* name, int64_t fallback_ms) {
  if (!json.contains(name)) return fallback_ms;
  const auto seconds = json[name].get<int64_t>();
  if (seconds < 0 || seconds > kMaxSeconds) throw std::out_of_range(name);
  return seconds * 1000;
}

Result<NewKey> ParseNewKey(std::string_view body) {
  const Json json = ParseJson(body);
  if (!json.is_object()) return Unfitting("the body is no JSON object");
  try {
    NewKey key{.name = json.at("name"), .replaces = json.value("replaces", "")};
    const auto access = AccessOf(json.at("access").get<std::string>());
    if (!access) return Unfitting(R"("access" is none of "project", "read" and "admin")");
    key.access = *access;
    key.expires_after_ms = MsOf(json, "expires_in_s", 0);
    key.overlap_ms = MsOf(json, "overlap_s", key.overlap_ms);
    if (json.contains("bytes_per_day") && !json["bytes_per_day"].is_number_unsigned())
      return Unfitting(R"("bytes_per_day" is no number of bytes)");
    key.quota = {.reports_per_s = json.value("reports_per_s", 0.0),
                 .bytes_per_day = json.value("bytes_per_day", uint64_t{0})};
    if (!std::isfinite(key.quota.reports_per_s) || key.quota.reports_per_s < 0)
      return Unfitting(R"("reports_per_s" is no number that a quota can have)");
    return key;
  } catch (const std::exception& error) {
    return Unfitting(std::string("the key cannot be made of this: ") + error.what());
  }
}

}  // namespace

Result<Response> ListKeys(const KeyFile& keys) {
  auto records = LAGWATCH_TRY(keys.Read());
  Json list = Json::array();
  for (const KeyRecord& record : records) list.push_back(Describe(record));
  return Response{200, JsonText(list)};
}

Result<Response> AddKey(const KeyFile& keys, std::string_view body, std::string_view by, AuditLog* audit) {
  auto key = LAGWATCH_TRY(ParseNewKey(body));
  auto text = LAGWATCH_TRY(keys.Add(key, base::SystemClock().WallMs()));
  audit->Add(by, "key.add", key.name, {{"access", NameOf(key.access)}});
  return Response{201, JsonText({{"name", key.name}, {"access", NameOf(key.access)}, {"key", text}})};
}

Result<Response> RevokeKey(const KeyFile& keys, std::string_view name, std::string_view by, AuditLog* audit) {
  if (Status revoked = keys.Revoke(name); !revoked.ok()) return revoked;
  audit->Add(by, "key.revoke", name);
  return Response{200, JsonText({{"revoked", name}})};
}

}  // namespace lagwatch::collector
