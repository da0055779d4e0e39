// SPDX-License-Identifier: Apache-2.0
// The reading half of the API, without HTTP: the collector serves it, and the command line asks it directly
// about a spool. The answers' shapes are in collector/API.md. Context: background. Thread-safe.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "collector/ingest/app_quota.h"
#include "collector/query/cluster_queries.h"
#include "collector/query/json/annotated_causes.h"
#include "collector/query/json/json_text.h"
#include "collector/query/json/source_template.h"
#include "collector/query/probe_queries.h"
#include "collector/query/query_string.h"
#include "collector/query/response.h"
#include "collector/query/trace_queries.h"
#include "collector/store/store.h"
#include "collector/symbols/names/symbolizer.h"
#include "policies/cluster_rules.h"

namespace lagwatch::collector {

class QueryApi {
 public:
  // Borrows `store` and `symbolizer`, which may be null: then names are those that clients knew.
  // `rules` are those that reports are clustered with. Borrows `app_quota`, which may be null. `sources`
  // is called from any thread, unless it is empty.
  QueryApi(StoreReader* store, policies::ClusterRules rules, Symbolizer* symbolizer = nullptr,
           const AppQuota* app_quota = nullptr, SourceLookup sources = {})
      : store_(store),
        annotated_(store),
        rules_(std::move(rules)),
        symbolizer_(symbolizer),
        sources_(std::move(sources)),
        clusters_(store, rules_, symbolizer, sources_),
        traces_(store, symbolizer),
        probes_(store),
        app_quota_(app_quota) {}

  // /v1/clusters, /v1/clusters/{key}, /v1/clusters/{key}/samples, /v1/breakdown, /v1/reports,
  // /v1/reports/{id}, /v1/frames, /v1/usage, /v1/losses, /v1/missing-symbols. Lists are CSV with format=csv.
  // /v1/traces/{id} is a file, and so is /v1/reports/{id} with the format of one. /v1/traces/{id}/flame is
  // JSON.
  Response Get(std::string_view path, std::string_view query) const;

 private:
  using Answer = base::Result<Json>;

  Answer Dispatch(std::string_view path, const QueryString& query) const;
  Answer Reports(const QueryString& query) const;
  Answer Values(const QueryString& query) const;
  Answer Frames(const QueryString& query) const;
  Answer Usage(const QueryString& query) const;
  Answer UsageByDay(const QueryString& query) const;
  Answer UsageByHour(const QueryString& query) const;
  Answer UsageByValue(const QueryString& query) const;
  // Adds "quota" to the entries of programs that have one.
  void AddQuotas(Json* usage) const;
  Answer Losses(const QueryString& query) const;
  Answer MissingSymbols(const QueryString& query) const;
  // Adds "exit" to the answer's entries, which are those of `reports`.
  base::Status AddExits(std::span<const ReportRow> reports, Json& answer) const;
  // Adds "reports" to the owners of `report`'s waits that are processes with a watchdog of their own.
  base::Status AddReportsOfOwners(const ReportRow& row, const report::Report& report, Json* answer) const;
  Response Report(std::string_view id, const QueryString& query) const;
  // The answer as text.
  base::Result<std::string> ReportJson(const StoredReport& stored, bool has_table) const;
  base::Result<base::Uuid> ResolveId(std::string_view id) const;

  StoreReader* store_;
  AnnotatedCauses annotated_;
  policies::ClusterRules rules_;
  Symbolizer* symbolizer_;
  SourceLookup sources_;
  ClusterQueries clusters_;
  TraceQueries traces_;
  ProbeQueries probes_;
  const AppQuota* app_quota_;
};

}  // namespace lagwatch::collector
