// SPDX-License-Identifier: Apache-2.0
#include "report/config/remote_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace lagwatch::report {
namespace {

using nlohmann::json;

constexpr NumberKey kNumbers[] = {
#define REMOTE_NUMBER(name, standard, least, most, when, help) {#name, &RemoteConfig::name, least, most},
#include "policies/options/remote_keys.def"
};

Status WrongType(const std::string& name, const char* wanted) {
  return {StatusCode::kInvalid, "\"" + name + "\" in the remote config is not " + wanted};
}

// None if it is not a number; a number outside of the range becomes its end.
std::optional<uint64_t> ToNumber(const json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer()) return 0;  // negative
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (!(number >= 0)) return 0;
  return number >= 1e18 ? static_cast<uint64_t>(1e18) : static_cast<uint64_t>(number);
}

Status ReadFlag(const json& document, const char* name, bool* flag) {
  const auto found = document.find(name);
  if (found == document.end()) return {};
  if (!found->is_boolean()) return WrongType(name, "true or false");
  *flag = found->get<bool>();
  return {};
}

Status ReadText(const json& document, const char* name, std::string* text) {
  const auto found = document.find(name);
  if (found == document.end()) return {};
  if (!found->is_string()) return WrongType(name, "a text");
  *text = found->get<std::string>();
  return {};
}

Status ReadRequest(const json& item, CaptureRequest* request) {
  if (!item.is_object()) return WrongType("capture_requests", "an array of objects");
  const std::string cluster =
      item.value("cluster", json()).is_string() ? item["cluster"].get<std::string>() : "";
  const auto key = base::ParseNumber<uint64_t>(cluster, 16);
  if (!key) return WrongType("capture_requests.cluster", "a hexadecimal number");
  request->cluster = *key;
  if (Status status = ReadText(item, "app_version", &request->app_version); !status.ok()) return status;
  if (const auto interval = item.find("interval_us"); interval != item.end()) {
    const std::optional<uint64_t> number = ToNumber(*interval);
    if (!number) return WrongType("capture_requests.interval_us", "a number");
    request->interval_us = static_cast<uint32_t>(
        std::clamp<uint64_t>(*number, CaptureRequest::kLeastIntervalUs, CaptureRequest::kMostIntervalUs));
  }
  return {};
}

Status ReadRequests(const json& document, std::vector<CaptureRequest>* requests) {
  const auto found = document.find("capture_requests");
  if (found == document.end()) return {};
  if (!found->is_array()) return WrongType("capture_requests", "an array of objects");
  for (const json& item : *found) {
    if (requests->size() == CaptureRequest::kMaxRequests) break;
    CaptureRequest request;
    if (Status status = ReadRequest(item, &request); !status.ok()) return status;
    requests->push_back(std::move(request));
  }
  return {};
}

Status ReadNumber(const json& item, const char* name, uint32_t least, uint32_t most, uint32_t* number) {
  const auto found = item.find(name);
  if (found == item.end()) return {};
  const std::optional<uint64_t> read = ToNumber(*found);
  if (!read) return WrongType(std::string("probe_requests.") + name, "a number");
  *number = static_cast<uint32_t>(std::clamp<uint64_t>(*read, least, most));
  return {};
}

Status ReadProbeRequest(const json& item, ProbeRequest* request) {
  if (!item.is_object()) return WrongType("probe_requests", "an array of objects");
  for (const auto& [name, text] : {std::pair("script", &request->script), std::pair("app", &request->app),
                                   std::pair("app_version", &request->app_version)}) {
    if (!ReadText(item, name, text).ok()) return WrongType(std::string("probe_requests.") + name, "a text");
  }
  if (Status status = ReadNumber(item, "user_share_ppm", 0, ProbeRequest::kAllPpm, &request->user_share_ppm);
      !status.ok())
    return status;
  return ReadNumber(item, "duration_s", 1, ProbeRequest::kMostDurationS, &request->duration_s);
}

Status ReadProbeRequests(const json& document, std::vector<ProbeRequest>* requests) {
  const auto found = document.find("probe_requests");
  if (found == document.end()) return {};
  if (!found->is_array()) return WrongType("probe_requests", "an array of objects");
  for (const json& item : *found) {
    if (requests->size() == ProbeRequest::kMaxRequests) break;
    ProbeRequest request;
    if (Status status = ReadProbeRequest(item, &request); !status.ok()) return status;
    requests->push_back(std::move(request));
  }
  return {};
}

}  // namespace

std::span<const NumberKey> NumberKeys() { return kNumbers; }

base::Result<RemoteConfig> ParseRemoteConfig(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return Status(StatusCode::kInvalid, "the remote config is not a JSON object");
  RemoteConfig config;
  for (const char* name : {"version", "expires_wall_ms"}) {
    const auto found = document.find(name);
    if (found == document.end() || !found->is_number_unsigned()) return WrongType(name, "a number from 0 on");
  }
  config.version = document["version"].get<uint64_t>();
  config.expires_wall_ms =
      static_cast<int64_t>(std::min<uint64_t>(document["expires_wall_ms"].get<uint64_t>(), INT64_MAX));
  for (const NumberKey& key : kNumbers) {
    const auto found = document.find(key.name);
    if (found == document.end()) continue;
    const std::optional<uint64_t> number = ToNumber(*found);
    if (!number) return WrongType(key.name, "a number");
    config.*key.value = static_cast<uint32_t>(std::clamp<uint64_t>(*number, key.least, key.most));
  }
  if (Status status = ReadText(document, "app", &config.app); !status.ok()) return status;
  if (Status status = ReadText(document, "user", &config.user); !status.ok()) return status;
  if (Status status = ReadFlag(document, "is_killed", &config.is_killed); !status.ok()) return status;
  if (Status status = ReadFlag(document, "is_forced", &config.is_forced); !status.ok()) return status;
  if (Status status = ReadRequests(document, &config.capture_requests); !status.ok()) return status;
  if (Status status = ReadProbeRequests(document, &config.probe_requests); !status.ok()) return status;
  return config;
}

}  // namespace lagwatch::report
