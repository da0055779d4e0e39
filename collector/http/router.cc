// SPDX-License-Identifier: Apache-2.0
#include "collector/http/router.h"

#include <spdlog/spdlog.h>
#include <strings.h>

#include <algorithm>
#include <exception>

#include "base/clock.h"
#include "collector/ingest/inflate.h"
#include "collector/query/json_text.h"
#include "collector/query/query_string.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kHealth = "/healthz";
constexpr std::string_view kReports = "/v1/reports";
constexpr std::string_view kConfig = "/v1/config";
constexpr std::string_view kBatchType = "application/x-protobuf";

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

std::string_view QueryOf(std::string_view target) {
  size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// "text/plain; charset=utf-8" is of type "text/plain".
bool IsOfType(std::string_view content_type, std::string_view type) {
  std::string_view named = content_type.substr(0, content_type.find(';'));
  return EqualsIgnoringCase(named.substr(0, named.find_last_not_of(' ') + 1), type);
}

bool IsGzip(std::string_view encoding) { return EqualsIgnoringCase(encoding, "gzip"); }

bool IsIdentity(std::string_view encoding) {
  return encoding.empty() || EqualsIgnoringCase(encoding, "identity");
}

std::string_view AllowedMethods(std::string_view path) { return path == kReports ? "GET, POST" : "GET"; }

bool IsAllowed(std::string_view method, std::string_view path) {
  return method == "GET" || (method == "POST" && path == kReports);
}

Response MethodNotAllowed(std::string_view path) {
  std::string_view allowed = AllowedMethods(path);
  Response response = ErrorResponse(405, "method_not_allowed", "use one of: " + std::string(allowed));
  response.allow = allowed;
  return response;
}

// What was stored is left out: nothing is left to be said of it.
Json ResultsJson(const std::vector<RecordResult>& records) {
  Json results = Json::array();
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].kind == RecordResult::Kind::kStored) continue;
    Json result = {{"record", i}};
    if (records[i].kind == RecordResult::Kind::kDuplicate) {
      result["result"] = "duplicate";
    } else {
      result.update({{"result", "rejected"}, {"why", records[i].why}});
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

Router::Router(ApiKeys keys, BodyLimits limits, Ingest* ingest, const QueryApi* query_api,
               ConfigService* config)
    : keys_(std::move(keys)), limits_(limits), ingest_(ingest), query_api_(query_api), config_(config) {}

std::optional<Response> Router::Refuse(const RequestHead& head) const {
  std::string_view path = PathOf(head.target);
  if (path.starts_with("/v1/") && !keys_.Accepts(head.authorization)) {
    return ErrorResponse(401, "unauthorized",
                         "send the header 'Authorization: Bearer KEY' with one of this collector's keys");
  }
  if (path != kHealth && path != kConfig && !QueryApi::Serves(path)) {
    return ErrorResponse(404, "not_found", "there is nothing at this path; try /v1/clusters");
  }
  if (!IsAllowed(head.method, path)) return MethodNotAllowed(path);
  if (head.content_length.value_or(0) > limits_.body_bytes) return BodyTooLarge();
  if (head.method == "POST") {
    if (!IsOfType(head.content_type, kBatchType)) {
      return ErrorResponse(415, "unsupported_type", "send the reports as " + std::string(kBatchType));
    }
    if (!IsGzip(head.content_encoding) && !IsIdentity(head.content_encoding)) {
      return ErrorResponse(415, "unsupported_encoding", "compress the body with gzip, or not at all");
    }
  }
  return std::nullopt;
}

Response Router::Handle(const RequestHead& head, std::string body) const {
  try {
    std::string_view path = PathOf(head.target);
    if (path == kHealth) return {200, JsonText({{"status", "ok"}})};
    if (head.method == "POST") return HandleUpload(head, std::move(body));
    if (path == kConfig) return HandleConfig(head);
    return query_api_->Get(path, QueryOf(head.target));
  } catch (const std::exception& error) {
    spdlog::error("{} {}: {}", head.method, PathOf(head.target), error.what());
    return ErrorResponse(500, "internal", "the collector could not answer; its log says why");
  }
}

Response Router::BodyTooLarge() const {
  return ErrorResponse(413, "too_large",
                       "the body has more than " + std::to_string(limits_.body_bytes) +
                           " bytes; send fewer reports in one request");
}

Response Router::HandleUpload(const RequestHead& head, std::string body) const {
  if (IsGzip(head.content_encoding)) {
    auto inflated = InflateGzip(body, limits_.inflated_bytes);
    if (!inflated.ok()) return ErrorResponse(inflated.status());
    body = std::move(*inflated);
  } else if (body.size() > limits_.inflated_bytes) {
    return BodyTooLarge();
  }
  auto result = ingest_->Submit(body);
  if (!result.ok()) {
    spdlog::warn("upload refused: {}", result.status().message());
    return ErrorResponse(result.status());
  }
  for (const RecordResult& record : result->records) {
    if (record.kind == RecordResult::Kind::kRejected) spdlog::warn("record refused: {}", record.why);
  }
  spdlog::info("upload: {} accepted, {} known already, {} refused", result->accepted, result->duplicates,
               result->rejected);
  Json answer = {{"accepted", result->accepted},
                 {"duplicates", result->duplicates},
                 {"rejected", result->rejected},
                 {"results", ResultsJson(result->records)}};
  if (config_ != nullptr) answer["config_version"] = config_->CurrentVersion();
  return {200, JsonText(answer)};
}

Response Router::HandleConfig(const RequestHead& head) const {
  auto query = QueryString::Parse(QueryOf(head.target));
  if (!query.ok()) return ErrorResponse(query.status());
  const ConfigClient client{
      .app = query->Get("app"), .app_version = query->Get("version"), .user = query->Get("user")};
  base::Result<std::optional<SignedConfig>> config = std::optional<SignedConfig>();
  if (config_ != nullptr) config = config_->Find(client, head.if_none_match, base::SystemClock().WallMs());
  if (!config.ok()) return ErrorResponse(config.status());
  if (!*config) return ErrorResponse(404, "not_found", "this collector has no config for clients");
  const int status = (*config)->envelope.empty() ? 304 : 200;
  return {.status = status, .json = std::move((*config)->envelope), .etag = std::move((*config)->etag)};
}

}  // namespace lagwatch::collector
