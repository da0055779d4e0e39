// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "collector/admin/admin_requests.h"
#include "collector/http/endpoints.h"
#include "collector/http/server/endpoint.h"
#include "collector/http/server/refusals.h"
#include "collector/query/json/json_text.h"
#include "collector/query/query_string.h"

namespace lagwatch::collector {
namespace {

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
  endpoints->push_back(Changing("POST", "/v1/admin/probe-requests", [config](const Request& request) {
    return config->AddProbeRequest(request.body, request.key.name, request.if_match);
  }));
  endpoints->push_back(Changing(
      "DELETE", "/v1/admin/probe-requests/{script}",
      [config](const Request& request) {
        return config->RemoveProbeRequest(request.item, request.key.name, request.if_match);
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

// A change is not made if its entry in the audit log could not be written.
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

}  // namespace

void AddAdministration(const Services& services, std::vector<Endpoint>* endpoints) {
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
  ChangeOnlyWithAudit(services.audit, endpoints);
}

}  // namespace lagwatch::collector
