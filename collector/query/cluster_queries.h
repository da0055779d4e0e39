// SPDX-License-Identifier: Apache-2.0
// The part of the API that is about clusters (collector/API.md). Context: background. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collector/query/json/annotated_causes.h"
#include "collector/query/json/cluster_json.h"
#include "collector/query/json/json_text.h"
#include "collector/query/json/source_template.h"
#include "collector/query/query_string.h"
#include "collector/store/store.h"
#include "collector/store/version_sums.h"
#include "collector/symbols/names/symbolizer.h"
#include "policies/cluster_rules.h"

namespace lagwatch::collector {

// A cause version by version, to see whether it was fixed.
// Of those that have it the kMaxVersions seen last; and as many that were watched, do not have it and are
// newer than the oldest of the same program that does. In the order in which they were first seen.
inline constexpr size_t kMaxVersions = 50;
Json CauseVersionsJson(std::vector<CauseVersion> versions, const std::vector<WatchedVersion>& watched);

class ClusterQueries {
 public:
  // Borrows the store and the symbolizer, which may be null. `sources` may be empty.
  ClusterQueries(StoreReader* store, policies::ClusterRules rules, Symbolizer* symbolizer,
                 SourceLookup sources)
      : store_(store),
        annotated_(store),
        rules_(std::move(rules)),
        symbolizer_(symbolizer),
        sources_(std::move(sources)) {}

  // /v1/clusters
  base::Result<Json> List(const QueryString& query) const;
  // /v1/compare
  base::Result<Json> Compare(const QueryString& query) const;
  // /v1/clusters/{key}
  base::Result<Json> One(const std::string& key, const QueryString& query) const;
  // /v1/clusters/{key}/breakdown
  base::Result<Json> Breakdown(const std::string& key, const QueryString& query) const;
  // /v1/breakdown
  base::Result<Json> BreakdownOfAll(const QueryString& query) const;
  // /v1/clusters/{key}/samples
  base::Result<Json> Samples(const std::string& key, const QueryString& query) const;

 private:
  // To each of the list, up to today.
  base::Status AddDays(const std::vector<ShownCause>& causes, int64_t count, Json* list) const;
  // To each of the list, from its newest reports.
  base::Status AddPackages(const std::vector<ShownCause>& causes, const ReportFilter& filter, int64_t reports,
                           Json* list) const;
  // The page of the list; with `new_in`, of causes that no older version has.
  base::Result<ShownPage> Page(CauseQuery query, const CauseStates& states, const std::string& new_in) const;
  base::Result<std::map<std::string, std::string>> FirstVersions(const CauseQuery& query) const;
  base::Result<std::string> FirstVersionOf(const ShownCause& cause, const std::string& app) const;
  base::Status AddNotSeenSince(const ReportFilter& filter, Json* list) const;
  base::Result<double> WatchedNs(const ReportFilter& filter) const;
  base::Result<CostOfAll> CostOf(const ReportFilter& filter) const;
  base::Result<Json> Hours(const ShownCause& cause, const ReportFilter& filter) const;
  base::Result<Json> Versions(const ShownCause& cause, const ReportFilter& filter) const;
  base::Status AddReports(const ShownCause& cause, ReportFilter filter, Json* answer) const;
  base::Result<std::optional<StoredReport>> Representative(const ShownCause& cause,
                                                           const std::vector<ReportRow>& newest) const;

  StoreReader* store_;
  AnnotatedCauses annotated_;
  policies::ClusterRules rules_;
  Symbolizer* symbolizer_;
  SourceLookup sources_;
};

}  // namespace lagwatch::collector
