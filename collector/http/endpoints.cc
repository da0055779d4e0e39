// SPDX-License-Identifier: Apache-2.0
#include "collector/http/endpoints.h"

#include <memory>
#include <utility>

#include "base/clock.h"
#include "collector/http/events.h"
#include "collector/http/server/endpoint.h"
#include "collector/ingest/inflate.h"
#include "collector/query/json/json_text.h"
#include "collector/query/openapi.h"
#include "collector/query/query_string.h"

namespace lagwatch::collector {
namespace {

Result<Response> GetConfig(ConfigService* service, const Request& request) {
  const auto query = LAGWATCH_TRY(QueryString::Parse(request.query));
  const ConfigClient client{.app = query.Get("app"),
                            .app_version = query.Get("version"),
                            .user = query.Get("user"),
                            .user_proof = query.Get("user_proof")};
  std::optional<SignedConfig> config;
  if (service != nullptr)
    config = LAGWATCH_TRY(
        service->Find(client, request.if_none_match, base::SystemClock().WallMs(), NetworkOf(request.peer)));
  if (!config) return Status(StatusCode::kNotFound, "this collector has no config for clients");
  const int status = config->envelope.empty() ? 304 : 200;
  return Response{.status = status, .body = std::move(config->envelope), .etag = std::move(config->etag)};
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
  for (const char* path :
       {"/v1/clusters", "/v1/clusters/{key}", "/v1/clusters/{key}/breakdown", "/v1/clusters/{key}/samples",
        "/v1/breakdown", "/v1/compare", "/v1/values", "/v1/reports", "/v1/reports/{id}", "/v1/traces",
        "/v1/traces/{id}", "/v1/traces/{id}/flame", "/v1/probes", "/v1/probes/{script}", "/v1/frames",
        "/v1/usage", "/v1/losses", "/v1/missing-symbols"}) {
    endpoints->push_back(Getting(path, kReaders, [query_api](const Request& request) {
      return query_api->Get(request.path, request.query);
    }));
  }
}

// Conditions that need an operator's attention although requests are answered.
Json Warnings(const Services& services) {
  Json warnings = Json::array();
  if (std::string warning = services.warning ? services.warning() : ""; !warning.empty())
    warnings.push_back(std::move(warning));
  StoreWriter* const store = services.store;
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
  if (Json warnings = Warnings(services); !warnings.empty()) answer["warnings"] = std::move(warnings);
  if (Json aside = services.set_aside ? services.set_aside() : Json(); !aside.empty())
    answer["set_aside"] = std::move(aside);
  return {200, JsonText(answer)};
}

Response MetricsText(const Services& services) {
  Metrics* metrics = services.metrics;
  if (services.disk != nullptr) metrics->SetDiskFreeBytes(services.disk->FreeBytes());
  if (services.store != nullptr) metrics->SetRefusedBatches(services.store->Refused());
  if (const StoreQuota* quota = services.store_quota; quota != nullptr)
    metrics->SetStoreSize(quota->size(), quota->marks().most_bytes);
  if (services.hang_counts != nullptr) metrics->SetHangs(services.hang_counts, base::SystemClock().WallMs());
  if (services.commits != nullptr) metrics->SetQueuedRecords(services.commits->waiting_records());
  if (services.keys != nullptr) metrics->SetKeyQuotas(services.keys->Uses(base::SystemClock().MonoNs()));
  if (services.weights != nullptr) metrics->SetSharing(services.weights->sharing());
  metrics->SetProcess(ProcessUse::OfThis());
  if (services.measure) services.measure(metrics);
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

UploadParts PartsOf(const Services& services, const BodyLimits& limits) {
  return {.ingest = services.ingest,
          .commits = services.commits,
          .keys = services.keys,
          .metrics = services.metrics,
          .limits = limits};
}

// As Sentry's SDKs expect them.
void AddSentry(const Services& services, const BodyLimits& limits, std::vector<Endpoint>* endpoints) {
  for (const auto& [path, body] : {std::pair("/api/{project}/envelope/", SentryBody::kEnvelope),
                                   std::pair("/api/{project}/store/", SentryBody::kEvent)}) {
    endpoints->push_back({.method = "POST",
                          .path = path,
                          .access = kSenders,
                          .key_place = KeyPlace::kSentry,
                          .runs_on = RunsOn::kParsers,
                          .handler = CreateSentryUpload(PartsOf(services, limits), body),
                          .body_limit = limits.body_bytes,
                          .takes_gzip = true,
                          .is_metered = true,
                          .is_for_programs = true});
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
                       .handler = CreateUpload(PartsOf(services, limits), services.config),
                       .body_limit = limits.body_bytes,
                       .body_type = "application/x-protobuf",
                       .takes_gzip = true,
                       .is_metered = true,
                       .is_for_programs = true});
  endpoints.push_back(Getting(
      "/v1/config", kAnyKey,
      [config = services.config](const Request& request) { return GetConfig(config, request); },
      RunsOn::kIo));
  endpoints.back().is_for_programs = true;
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
  AddAdministration(services, &endpoints);
  if (services.disk != nullptr || services.store_quota != nullptr)
    StoreOnlyWithRoom(services.disk, services.store_quota, &endpoints);
  DeclareNames(&endpoints);
  AddPage(services.page, &endpoints);
  return endpoints;
}

}  // namespace lagwatch::collector
