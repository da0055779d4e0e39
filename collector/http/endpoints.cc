// SPDX-License-Identifier: Apache-2.0
#include "collector/http/endpoints.h"

#include <memory>
#include <utility>

#include "base/clock.h"
#include "collector/admin/admin_requests.h"
#include "collector/http/events.h"
#include "collector/http/page.h"
#include "collector/http/sentry_upload.h"
#include "collector/http/server/refusals.h"
#include "collector/ingest/inflate.h"
#include "collector/query/json/json_text.h"
#include "collector/query/openapi.h"
#include "collector/query/query_string.h"

namespace lagwatch::collector {
namespace {

Result<Response> GetConfig(ConfigService* service, const Request& request) {
  const auto query = LAGWATCH_TRY(QueryString::Parse(request.query));
  const ConfigClient client{
      .app = query.Get("app"), .app_version = query.Get("version"), .user = query.Get("user")};
  std::optional<SignedConfig> config;
  if (service != nullptr)
    config = LAGWATCH_TRY(service->Find(client, request.if_none_match, base::SystemClock().WallMs()));
  if (!config) return Status(StatusCode::kNotFound, "this collector has no config for clients");
  const int status = config->envelope.empty() ? 304 : 200;
  return Response{.status = status, .body = std::move(config->envelope), .etag = std::move(config->etag)};
}

Response ToResponse(Response response) { return response; }
Response ToResponse(Result<Response> response) {
  return response.ok() ? std::move(response).value() : ErrorResponse(response.status());
}

// A handler that has its answer at once.
template <typename Answer>
Handler Answering(Answer answer) {
  return [answer](const Request& request, const Respond& respond) { respond(ToResponse(answer(request))); };
}

// An endpoint that only answers.
template <typename Answer>
Endpoint Getting(std::string_view path, AccessMask access, Answer answer, RunsOn runs_on = RunsOn::kQueries) {
  return {.method = "GET",
          .path = path,
          .access = access,
          .runs_on = runs_on,
          .handler = Answering(std::move(answer))};
}

// Returns the rights of the request's own key.
void AddOwnKey(std::vector<Endpoint>* endpoints) {
  endpoints->push_back(Getting(
      "/v1/key", kAnyKey,
      [](const Request& request) {
        return Response{200, JsonText({{"name", request.key.name}, {"access", NameOf(request.key.access)}})};
      },
      RunsOn::kIo));
}

void AddQueries(const QueryApi* query_api, std::vector<Endpoint>* endpoints) {
  for (const char* path : {"/v1/clusters", "/v1/clusters/{key}", "/v1/clusters/{key}/samples", "/v1/reports",
                           "/v1/reports/{id}", "/v1/traces", "/v1/traces/{id}", "/v1/traces/{id}/flame",
                           "/v1/frames", "/v1/usage", "/v1/losses", "/v1/missing-symbols"}) {
    endpoints->push_back(Getting(path, kReaders, [query_api](const Request& request) {
      return query_api->Get(request.path, request.query);
    }));
  }
}

// Conditions that need an operator's attention although requests are answered.
Json Warnings(Store* store) {
  Json warnings = Json::array();
  if (const uint64_t kept = store != nullptr ? store->Refused().kept : 0; kept > 0) {
    warnings.push_back(std::to_string(kept) +
                       " batches of records that ClickHouse refused are set aside in "
                       "DATA/clickhouse-spool/refused; the log says why");
  }
  return warnings;
}

// Whether something new may be stored.
base::Status CheckRoom(const DiskSpace* disk, const StoreQuota* store_quota) {
  base::Status room = disk != nullptr ? disk->Check() : base::Status();
  return room.ok() && store_quota != nullptr ? store_quota->Check() : room;
}

Response Ready(const Services& services) {
  base::Status ready = CheckRoom(services.disk, services.store_quota);
  if (ready.ok() && services.check_store) ready = services.check_store();
  if (!ready.ok()) return ErrorResponse(503, "unavailable", ready.message());
  Json answer = {{"status", "ready"}};
  if (Json warnings = Warnings(services.store); !warnings.empty()) answer["warnings"] = std::move(warnings);
  return {200, JsonText(answer)};
}

Response MetricsText(const Services& services) {
  Metrics* metrics = services.metrics;
  if (services.disk != nullptr) metrics->SetDiskFreeBytes(services.disk->FreeBytes());
  if (services.store != nullptr) metrics->SetRefusedBatches(services.store->Refused());
  if (const StoreQuota* quota = services.store_quota; quota != nullptr)
    metrics->SetStoreSize(quota->size(), quota->marks().most_bytes);
  if (services.app_quota != nullptr)
    metrics->SetAppQuotas(services.app_quota->Uses(base::SystemClock().WallMs()));
  return {
      .status = 200, .body = metrics->ToText(), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

// For operators. Readiness is answered by the queries' threads: while too many wait, the collector
// is not ready.
void AddOperations(const Services& services, std::vector<Endpoint>* endpoints) {
  endpoints->push_back(Getting(
      "/healthz", kEverybody,
      [](const Request&) {
        return Response{200, JsonText({{"status", "ok"}})};
      },
      RunsOn::kIo));
  endpoints->push_back(
      Getting("/readyz", kEverybody, [services](const Request&) { return Ready(services); }));
  if (services.metrics == nullptr) return;
  endpoints->push_back(Getting(
      "/metrics", kReaders, [services](const Request&) { return MetricsText(services); }, RunsOn::kIo));
}

constexpr uint64_t kMaxAdminBodyBytes = 4096;
constexpr uint64_t kMaxConfigBytes = 1 << 20;

// An endpoint that changes something, with a JSON object as its body.
template <typename Answer>
Endpoint Changing(std::string_view method, std::string_view path, Answer answer,
                  uint64_t body_limit = kMaxAdminBodyBytes) {
  return {.method = method,
          .path = path,
          .access = kAdmins,
          .handler = Answering(std::move(answer)),
          .body_limit = body_limit,
          .body_type = body_limit == 0 ? "" : "application/json"};
}

void AddKeyAdmin(const KeyFile* keys, AuditLog* audit, std::vector<Endpoint>* endpoints) {
  endpoints->push_back(
      Getting("/v1/admin/keys", kAdmins, [keys](const Request&) { return ListKeys(*keys); }));
  endpoints->push_back(Changing("POST", "/v1/admin/keys", [keys, audit](const Request& request) {
    return AddKey(*keys, request.body, request.key.name, audit);
  }));
  endpoints->push_back(Changing(
      "DELETE", "/v1/admin/keys/{name}",
      [keys, audit](const Request& request) {
        return RevokeKey(*keys, request.item, request.key.name, audit);
      },
      0));
}

void AddConfigAdmin(ConfigAdmin* config, std::vector<Endpoint>* endpoints) {
  endpoints->push_back(
      Getting("/v1/admin/config", kAdmins, [config](const Request&) { return config->Get(); }));
  endpoints->push_back(Getting("/v1/admin/config/{version}", kAdmins, [config](const Request& request) {
    return config->GetVersion(request.item);
  }));
  endpoints->push_back(Changing(
      "PUT", "/v1/admin/config",
      [config](const Request& request) {
        return config->Put(request.body, request.query, request.key.name, request.if_match);
      },
      kMaxConfigBytes));
  endpoints->push_back(Changing("POST", "/v1/admin/config/rollback", [config](const Request& request) {
    return config->Rollback(request.body, request.key.name, request.if_match);
  }));
  endpoints->push_back(Changing("POST", "/v1/admin/allowlist", [config](const Request& request) {
    return config->PutAllowlist(request.body, request.key.name, request.if_match);
  }));
  endpoints->push_back(Changing("POST", "/v1/admin/capture-requests", [config](const Request& request) {
    return config->AddCaptureRequest(request.body, request.key.name, request.if_match);
  }));
  endpoints->push_back(Changing(
      "DELETE", "/v1/admin/capture-requests/{cluster}",
      [config](const Request& request) {
        return config->RemoveCaptureRequest(request.item, request.key.name, request.if_match);
      },
      0));
}

Result<Response> AuditEntries(const AuditLog& audit, const Request& request) {
  const auto query = LAGWATCH_TRY(QueryString::Parse(request.query));
  const auto limit = LAGWATCH_TRY(query.GetInt("limit", 100, 1, 10'000));
  return Response{200, JsonText(LAGWATCH_TRY(audit.Newest(limit)))};
}

Response Jobs(const ReclusterJob& recluster, const std::function<RetentionState()>& retention) {
  const ReclusterProgress progress = recluster.progress();
  Json jobs = {{"recluster",
                {{"is_running", progress.is_running}, {"done", progress.done}, {"total", progress.total}}}};
  if (retention) {
    const RetentionState state = retention();
    jobs["retention"] = {{"is_held", state.is_held},
                         {"reached_ms", state.reached_day * kMsPerDay},
                         {"wanted_ms", state.wanted_day * kMsPerDay}};
  }
  return {200, JsonText(jobs)};
}

void AddDeletions(const Services& services, std::vector<Endpoint>* endpoints) {
  endpoints->push_back(
      Getting("/v1/admin/deletions", kAdmins,
              [deletions = services.deletions](const Request&) { return ListDeletions(deletions); }));
  endpoints->push_back(
      Changing("POST", "/v1/admin/deletions",
               [deletions = services.deletions, store = services.store, causes = services.causes,
                audit = services.audit, wake = services.wake_maintenance](const Request& request) {
                 auto begun = BeginDeletion(deletions, store, *causes, request.body, request.key.name, audit);
                 if (wake) wake();
                 return begun;
               }));
}

void AddAdmin(const Services& services, std::vector<Endpoint>* endpoints) {
  if (services.audit == nullptr) return;
  if (services.deletions != nullptr) AddDeletions(services, endpoints);
  if (services.key_file != nullptr) AddKeyAdmin(services.key_file, services.audit, endpoints);
  if (services.config_admin != nullptr) AddConfigAdmin(services.config_admin, endpoints);
  if (services.causes != nullptr) {
    endpoints->push_back(Getting(
        "/v1/admin/clusters/{key}", kAdmins,
        [causes = services.causes](const Request& request) { return GetCluster(*causes, request.item); }));
    endpoints->push_back(Changing("PATCH", "/v1/admin/clusters/{key}",
                                  [causes = services.causes, audit = services.audit](const Request& request) {
                                    return PatchCluster(*causes, request.item, request.body, request.key.name,
                                                        audit, request.if_match);
                                  }));
  }
  if (services.recluster != nullptr) {
    endpoints->push_back(Getting("/v1/admin/jobs", kAdmins,
                                 [recluster = services.recluster, retention = services.retention](
                                     const Request&) { return Jobs(*recluster, retention); }));
  }
  endpoints->push_back(Getting("/v1/admin/audit", kAdmins, [audit = services.audit](const Request& request) {
    return AuditEntries(*audit, request);
  }));
}

Result<Response> PutSymbols(SymbolsApi* symbols, const Request& request, uint64_t inflated_limit) {
  if (!request.is_gzip) return symbols->Put(request.item, request.query, request.body);
  return symbols->Put(request.item, request.query, LAGWATCH_TRY(InflateGzip(request.body, inflated_limit)));
}

void AddSymbols(SymbolsApi* symbols, const BodyLimits& limits, std::vector<Endpoint>* endpoints) {
  endpoints->push_back(
      Getting("/v1/symbols", kReaders, [symbols](const Request&) { return symbols->List(); }));
  endpoints->push_back(Getting("/v1/symbols/{build_id}", kAdmins, [symbols](const Request& request) {
    return symbols->Progress(request.item, request.query);
  }));
  endpoints->push_back({.method = "PUT",
                        .path = "/v1/symbols/{build_id}",
                        .access = kAdmins,
                        .handler = Answering([symbols, limits](const Request& request) {
                          return PutSymbols(symbols, request, limits.inflated_bytes);
                        }),
                        .body_limit = limits.body_bytes,
                        .body_type = "application/octet-stream",
                        .takes_gzip = true});
}

// As Sentry's SDKs expect them.
void AddSentry(const Services& services, const BodyLimits& limits, std::vector<Endpoint>* endpoints) {
  for (const auto& [path, body] : {std::pair("/api/{project}/envelope/", SentryUpload::Body::kEnvelope),
                                   std::pair("/api/{project}/store/", SentryUpload::Body::kEvent)}) {
    endpoints->push_back({.method = "POST",
                          .path = path,
                          .access = kSenders,
                          .key_place = KeyPlace::kSentry,
                          .runs_on = RunsOn::kIo,
                          .handler = SentryUpload(body, services.ingest, services.commits, services.keys,
                                                  services.metrics, limits),
                          .body_limit = limits.body_bytes,
                          .takes_gzip = true,
                          .is_metered = true});
  }
}

// A change whose entry in the audit log could not be written is not made.
void ChangeOnlyWithAudit(AuditLog* audit, std::vector<Endpoint>* endpoints) {
  for (Endpoint& endpoint : *endpoints) {
    if (endpoint.method == "GET" || !endpoint.path.starts_with("/v1/admin/")) continue;
    endpoint.handler = [audit, handler = std::move(endpoint.handler)](Request request,
                                                                      const Respond& respond) {
      if (base::Status reserved = audit->Reserve(); !reserved.ok()) return respond(NoRoom(reserved));
      handler(std::move(request), respond);
    };
  }
}

// Refuses bodies to store while the disk, or the store, is full.
void StoreOnlyWithRoom(const DiskSpace* disk, const StoreQuota* store_quota,
                       std::vector<Endpoint>* endpoints) {
  for (Endpoint& endpoint : *endpoints) {
    if (endpoint.is_metered)
      endpoint.check_room = [disk, store_quota] { return CheckRoom(disk, store_quota); };
    if (endpoint.path == "/v1/symbols/{build_id}")
      endpoint.check_room = [disk] { return CheckRoom(disk, nullptr); };
  }
}

}  // namespace

std::vector<Endpoint> CollectorEndpoints(const Services& services, const BodyLimits& limits) {
  std::vector<Endpoint> endpoints;
  AddOperations(services, &endpoints);
  endpoints.push_back({.method = "POST",
                       .path = "/v1/reports",
                       .access = kSenders,
                       .runs_on = RunsOn::kIo,
                       .handler = Upload(services.ingest, services.commits, services.config, services.keys,
                                         services.metrics, limits),
                       .body_limit = limits.body_bytes,
                       .body_type = "application/x-protobuf",
                       .takes_gzip = true,
                       .is_metered = true});
  endpoints.push_back(Getting(
      "/v1/config", kAnyKey,
      [config = services.config](const Request& request) { return GetConfig(config, request); },
      RunsOn::kIo));
  AddSentry(services, limits, &endpoints);
  AddOwnKey(&endpoints);
  AddQueries(services.query_api, &endpoints);
  endpoints.push_back(Getting(
      "/v1/openapi.json", kReaders,
      [](const Request&) {
        return Response{200, std::string(OpenApiText())};
      },
      RunsOn::kIo));
  if (services.symbols != nullptr) AddSymbols(services.symbols, limits, &endpoints);
  if (services.feed != nullptr) {
    endpoints.push_back(Getting(
        "/v1/events", kReaders,
        [texts = std::make_shared<EventTexts>(services.feed)](const Request& request) {
          return StreamReports(texts, request);
        },
        RunsOn::kIo));
  }
  AddAdmin(services, &endpoints);
  if (services.audit != nullptr) ChangeOnlyWithAudit(services.audit, &endpoints);
  if (services.disk != nullptr || services.store_quota != nullptr)
    StoreOnlyWithRoom(services.disk, services.store_quota, &endpoints);
  AddPage(services.page, &endpoints);
  return endpoints;
}

}  // namespace lagwatch::collector
