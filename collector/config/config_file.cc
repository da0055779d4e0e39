// SPDX-License-Identifier: Apache-2.0
#include "collector/config/config_file.h"

#include <algorithm>
#include <initializer_list>

#include "report/config/remote_config.h"
#include "report/probes/script_allowlist.h"

namespace lagwatch::collector {
namespace {

using report::CaptureRequest;
using report::ProbeRequest;

constexpr int64_t kHourMs = 3'600'000;
constexpr uint64_t kDefaultExpiryHours = 24 * 30;
constexpr uint64_t kMostExpiryHours = 24 * 365;
constexpr size_t kMostVersions = 1000;
const std::string kProofPrefix = "sha256:";  // of a user's proof in the allowlist, in place of a name
constexpr size_t kProofDigits = 32;
constexpr size_t kMostSources = 1000;

Status Wrong(const std::string& key, const std::string& wanted) {
  return {StatusCode::kInvalid, "\"" + key + "\" must be " + wanted};
}

Status CheckNumber(const std::string& key, const Json& value, uint64_t least, uint64_t most) {
  const bool is_in_range =
      value.is_number_unsigned() && value.get<uint64_t>() >= least && value.get<uint64_t>() <= most;
  return is_in_range
             ? Status()
             : Wrong(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

// A name, or a proof of the one form that clients send.
bool IsAllowlistEntry(const Json& entry) {
  if (!entry.is_string()) return false;
  const auto text = entry.get<std::string>();
  if (!text.starts_with(kProofPrefix)) return true;
  return text.size() == kProofPrefix.size() + kProofDigits &&
         text.find_first_not_of("0123456789abcdef", kProofPrefix.size()) == std::string::npos;
}

Status CheckKnown(const std::string& where, const Json& object,
                  std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) == known.end())
      return {StatusCode::kInvalid, "\"" + key + "\" is not a key of " + where};
  }
  return {};
}

// A text, or not there.
Status TakeText(const Json& object, const char* key, std::string* text) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (!found->is_string()) return Wrong(key, "a text");
  *text = found->get<std::string>();
  return {};
}

Status CheckRequest(const Json& request) {
  if (!request.is_object()) return Wrong("capture_requests", "an array of objects");
  if (Status status = CheckKnown("a capture request", request, {"cluster", "app_version", "interval_us"});
      !status.ok())
    return status;
  const std::string cluster =
      request.value("cluster", Json()).is_string() ? request["cluster"].get<std::string>() : "";
  const bool is_key = !cluster.empty() && cluster.size() <= 16 &&
                      cluster.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!is_key) return Wrong("capture_requests.cluster", "up to 16 hexadecimal digits");
  std::string app_version;
  if (Status status = TakeText(request, "app_version", &app_version); !status.ok()) return status;
  if (!request.contains("interval_us")) return {};
  return CheckNumber("capture_requests.interval_us", request["interval_us"], CaptureRequest::kLeastIntervalUs,
                     CaptureRequest::kMostIntervalUs);
}

Status CheckRequests(const Json& requests) {
  if (!requests.is_array() || requests.size() > CaptureRequest::kMaxRequests)
    return Wrong("capture_requests",
                 "an array of " + std::to_string(CaptureRequest::kMaxRequests) + " objects at most");
  for (const Json& request : requests) {
    if (Status status = CheckRequest(request); !status.ok()) return status;
  }
  return {};
}

Status CheckProbeRequest(const Json& request) {
  if (!request.is_object()) return Wrong("probe_requests", "an array of objects");
  if (Status status = CheckKnown("a probe request", request,
                                 {"script", "app", "app_version", "user_share_ppm", "duration_s"});
      !status.ok())
    return status;
  std::string script;
  std::string text;
  if (Status status = TakeText(request, "script", &script); !status.ok()) return status;
  if (!report::IsScriptHash(script))
    return Wrong("probe_requests.script", "a script's SHA-256, 64 lower-case hexadecimal digits");
  for (const char* key : {"app", "app_version"})
    if (Status status = TakeText(request, key, &text); !status.ok()) return status;
  const Json share = request.value("user_share_ppm", Json(ProbeRequest::kAllPpm));
  if (Status status = CheckNumber("probe_requests.user_share_ppm", share, 0, ProbeRequest::kAllPpm);
      !status.ok())
    return status;
  return CheckNumber("probe_requests.duration_s", request.value("duration_s", Json(1U)), 1,
                     ProbeRequest::kMostDurationS);
}

Status CheckProbeRequests(const Json& requests) {
  if (!requests.is_array() || requests.size() > ProbeRequest::kMaxRequests)
    return Wrong("probe_requests",
                 "an array of " + std::to_string(ProbeRequest::kMaxRequests) + " objects at most");
  for (const Json& request : requests) {
    if (Status status = CheckProbeRequest(request); !status.ok()) return status;
  }
  return {};
}

// Moves the clients' values from `object` to `values`, checked. The rest is not for clients.
Status TakeValues(Json* object, Json* values) {
  for (const report::NumberKey& key : report::NumberKeys()) {
    if (!object->contains(key.name)) continue;
    if (Status status = CheckNumber(key.name, object->at(key.name), key.least, key.most); !status.ok())
      return status;
    (*values)[key.name] = object->at(key.name);
    object->erase(key.name);
  }
  if (object->contains("is_killed")) {
    if (!object->at("is_killed").is_boolean()) return Wrong("is_killed", "true or false");
    (*values)["is_killed"] = object->at("is_killed");
    object->erase("is_killed");
  }
  if (object->contains("capture_requests")) {
    if (Status status = CheckRequests(object->at("capture_requests")); !status.ok()) return status;
    (*values)["capture_requests"] = object->at("capture_requests");
    object->erase("capture_requests");
  }
  if (object->contains("probe_requests")) {
    if (Status status = CheckProbeRequests(object->at("probe_requests")); !status.ok()) return status;
    (*values)["probe_requests"] = object->at("probe_requests");
    object->erase("probe_requests");
  }
  return {};
}

}  // namespace

Result<ConfigFile> ConfigFile::Parse(std::string_view text) {
  Json object = ParseJson(text);
  if (!object.is_object()) return Status(StatusCode::kInvalid, "it is not a JSON object");
  ConfigFile file;
  if (Status status = TakeValues(&object, &file.values_); !status.ok()) return status;
  if (Status status = CheckKnown("the config", object,
                                 {"allowlist", "expires_after_hours", "overrides", "sources", "versions"});
      !status.ok())
    return status;
  const Json hours = object.value("expires_after_hours", Json(kDefaultExpiryHours));
  if (Status status = CheckNumber("expires_after_hours", hours, 1, kMostExpiryHours); !status.ok())
    return status;
  file.expires_after_ms_ = hours.get<int64_t>() * kHourMs;
  const Json allowlist = object.value("allowlist", Json::array());
  if (!allowlist.is_array() || !std::ranges::all_of(allowlist, IsAllowlistEntry))
    return Wrong("allowlist", "an array of users' names, or sha256: and 32 lower-case hexadecimal digits");
  for (const Json& user : allowlist) file.allowlist_.insert(user.get<std::string>());
  if (Status status = file.ReadOverrides(object.value("overrides", Json::array())); !status.ok())
    return status;
  if (Status status = file.ReadVersions(object.value("versions", Json::object())); !status.ok())
    return status;
  if (Status status = file.ReadSources(object.value("sources", Json::object())); !status.ok()) return status;
  return file;
}

Status ConfigFile::ReadVersions(const Json& versions) {
  const std::string wanted = "an object with an array of versions for each program, " +
                             std::to_string(kMostVersions) + " in all at most";
  if (!versions.is_object()) return Wrong("versions", wanted);
  for (const auto& [app, names] : versions.items()) {
    if (!names.is_array()) return Wrong("versions", wanted);
    for (const Json& name : names) {
      if (!name.is_string()) return Wrong("versions", wanted);
      versions_.emplace(app, name.get<std::string>());
    }
  }
  return versions_.size() <= kMostVersions ? Status() : Wrong("versions", wanted);
}

Status ConfigFile::ReadSources(const Json& sources) {
  const std::string wanted = R"(an object with {"url", "root"} for each program, )" +
                             std::to_string(kMostSources) + " at most; root may be left out";
  if (!sources.is_object() || sources.size() > kMostSources) return Wrong("sources", wanted);
  for (const auto& [app, entry] : sources.items()) {
    if (!entry.is_object()) return Wrong("sources", wanted);
    if (Status status = CheckKnown("an entry of sources", entry, {"url", "root"}); !status.ok())
      return status;
    std::string url;
    std::string root;
    if (Status status = TakeText(entry, "url", &url); !status.ok()) return status;
    if (Status status = TakeText(entry, "root", &root); !status.ok()) return status;
    auto source = SourceTemplate::Parse(std::move(url), std::move(root));
    if (!source.ok())
      return {StatusCode::kInvalid, "\"sources\" of " + app + ": " + source.status().message()};
    sources_.emplace(app, std::move(*source));
  }
  return {};
}

std::optional<SourceTemplate> ConfigFile::SourceOf(std::string_view app) const {
  const auto found = sources_.find(app);
  return found == sources_.end() ? std::nullopt : std::optional(found->second);
}

bool ConfigFile::HasVersion(const std::string& app, const std::string& version) const {
  return versions_.contains({app, version});
}

std::optional<uint64_t> ConfigFile::LeastUserRatePpm() const {
  std::optional<uint64_t> least;
  const auto take = [&](const Json& values) {
    const auto rate = values.find("user_rate_ppm");
    if (rate == values.end() || rate->get<uint64_t>() == 0) return;
    least = std::min(least.value_or(UINT64_MAX), rate->get<uint64_t>());
  };
  take(values_);
  for (const Override& entry : overrides_) take(entry.values);
  return least;
}

Status ConfigFile::ReadOverrides(const Json& overrides) {
  if (!overrides.is_array()) return Wrong("overrides", "an array of objects");
  for (Json object : overrides) {
    if (!object.is_object()) return Wrong("overrides", "an array of objects");
    Override entry{.app = {}, .app_version = {}, .values = Json::object()};
    if (Status status = TakeText(object, "app", &entry.app); !status.ok()) return status;
    if (Status status = TakeText(object, "app_version", &entry.app_version); !status.ok()) return status;
    if (Status status = TakeValues(&object, &entry.values); !status.ok()) return status;
    if (Status status = CheckKnown("an override", object, {"app", "app_version"}); !status.ok())
      return status;
    overrides_.push_back(std::move(entry));
  }
  return {};
}

bool ConfigFile::IsProved(const ConfigClient& client) const {
  return !client.user_proof.empty() && allowlist_.contains(kProofPrefix + client.user_proof);
}

Json ConfigFile::DocumentFor(const ConfigClient& client) const {
  Json document = values_;
  for (const Override& entry : overrides_) {
    const bool is_meant = (entry.app.empty() || entry.app == client.app) &&
                          (entry.app_version.empty() || entry.app_version == client.app_version);
    if (is_meant) document.update(entry.values);
  }
  document["app"] = client.app;
  document["user"] = client.user;
  const bool is_named = !client.user.starts_with(kProofPrefix) && allowlist_.contains(client.user);
  if (IsProved(client) || (!client.user.empty() && is_named)) document["is_forced"] = true;
  return document;
}

}  // namespace lagwatch::collector
