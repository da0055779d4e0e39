// SPDX-License-Identifier: Apache-2.0
#include "collector/query/query_api.h"

#include <algorithm>
#include <optional>

#include "collector/query/cluster_summary.h"
#include "collector/query/report_json.h"
#include "collector/query/usage_summary.h"

namespace lagwatch::collector {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr std::string_view kClusters = "/v1/clusters";
constexpr std::string_view kReports = "/v1/reports";
constexpr std::string_view kFrames = "/v1/frames";
constexpr std::string_view kUsage = "/v1/usage";
constexpr std::string_view kLosses = "/v1/losses";
constexpr int64_t kDefaultLimit = 100;
constexpr int64_t kMaxLimit = 1000;

// What follows `collection` and a slash in `path`; empty when nothing does.
std::string_view ItemOf(std::string_view collection, std::string_view path) {
  if (!path.starts_with(collection)) return {};
  path.remove_prefix(collection.size());
  return path.starts_with('/') ? path.substr(1) : std::string_view();
}

ReportFilter FilterOf(const QueryString& query) {
  return {.app = query.Get("app"), .version = query.Get("version"), .cluster_key = query.Get("cluster")};
}

// All clusters: the losses of a cause are shared among all that have reports of it.
Result<std::vector<ClusterSummary>> Summarize(Store* store, const ReportFilter& filter, int level) {
  ClusterSummaries summaries;
  Status visited = store->ForEachReport(filter, [&](const ReportRow& report) { summaries.Add(report); });
  if (!visited.ok()) return visited;
  auto clusters = store->Clusters();
  if (!clusters.ok()) return clusters.status();
  auto losses = store->Losses(filter);
  if (!losses.ok()) return losses.status();
  return std::move(summaries).Take(level, *clusters, *losses);
}

Status NoSuchCluster() {
  return {StatusCode::kNotFound, "there is no such cluster; " + std::string(kClusters) + " lists them all"};
}

Result<report::Report> Decode(const StoredReport& stored) {
  auto report = report::DecodeReport(stored.payload);
  if (!report.ok())
    return Status(StatusCode::kInternal, "the stored report is damaged: " + report.status().message());
  return report;
}

}  // namespace

bool QueryApi::Serves(std::string_view path) {
  return path == kClusters || path == kReports || path == kFrames || path == kUsage || path == kLosses ||
         !ItemOf(kClusters, path).empty() || !ItemOf(kReports, path).empty();
}

Response QueryApi::Get(std::string_view path, std::string_view query) const {
  Answer answer = Dispatch(path, query);
  return answer.ok() ? Response{200, JsonText(*answer)} : ErrorResponse(answer.status());
}

QueryApi::Answer QueryApi::Dispatch(std::string_view path, std::string_view query_text) const {
  auto query = QueryString::Parse(query_text);
  if (!query.ok()) return query.status();
  if (path == kClusters) return Clusters(*query);
  if (path == kReports) return Reports(*query);
  if (path == kFrames) return Frames(*query);
  if (path == kUsage) return Usage(*query);
  if (path == kLosses) return Losses(*query);
  if (auto key = ItemOf(kClusters, path); !key.empty()) return OneCluster(key);
  if (auto id = ItemOf(kReports, path); !id.empty()) return OneReport(id);
  return Status(StatusCode::kNotFound, "there is nothing at this path; try " + std::string(kClusters));
}

QueryApi::Answer QueryApi::Clusters(const QueryString& query) const {
  auto level = query.GetInt("level", 1, 1, 2);
  if (!level.ok()) return level.status();
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  const ReportFilter filter{.app = query.Get("app"), .version = query.Get("version")};
  auto summaries = Summarize(store_, filter, static_cast<int>(*level));
  if (!summaries.ok()) return summaries.status();
  Json answer = Json::array();
  for (const ClusterSummary& summary : *summaries) {
    if (static_cast<int64_t>(answer.size()) == *limit) break;
    answer.push_back(ClusterJson(summary));
  }
  return answer;
}

QueryApi::Answer QueryApi::OneCluster(std::string_view key) const {
  auto reports = store_->Reports({.cluster_key = std::string(key)}, kDefaultLimit);
  if (!reports.ok()) return reports.status();
  if (reports->empty()) return NoSuchCluster();
  auto newest = store_->FindReport(reports->front().id);
  if (!newest.ok()) return newest.status();
  auto decoded = Decode(**newest);
  if (!decoded.ok()) return decoded.status();
  auto summaries = Summarize(store_, {}, key == reports->front().level1_key ? 1 : 2);
  if (!summaries.ok()) return summaries.status();
  const auto summary = std::ranges::find(*summaries, key, [](const auto& each) { return each.cluster.key; });
  if (summary == summaries->end()) return NoSuchCluster();

  Json answer = ClusterJson(*summary);
  answer["stack"] = ExpensiveStackJson(*decoded);
  answer["report_ids"] = Json::array();
  for (const ReportRow& report : *reports) answer["report_ids"].push_back(base::ToString(report.id));
  return answer;
}

QueryApi::Answer QueryApi::Reports(const QueryString& query) const {
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  auto reports = store_->Reports(FilterOf(query), *limit);
  if (!reports.ok()) return reports.status();
  auto clusters = store_->Clusters();
  if (!clusters.ok()) return clusters.status();
  Json answer = Json::array();
  for (const ReportRow& report : *reports) {
    answer.push_back(ReportHeaderJson(report, clusters->at(report.level1_key).frames));
  }
  return answer;
}

QueryApi::Answer QueryApi::Frames(const QueryString& query) const {
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  auto summaries = store_->Frames(FilterOf(query), *limit);
  if (!summaries.ok()) return summaries.status();
  Json answer = Json::array();
  for (const FrameSummary& summary : *summaries) answer.push_back(FramesJson(summary));
  return answer;
}

QueryApi::Answer QueryApi::Usage(const QueryString& query) const {
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  UsageSummaries summaries;
  Status visited = store_->ForEachUsage(query.Get("app"), query.Get("version"), query.Get("user"),
                                        [&](std::string_view payload) {
                                          if (auto usage = report::DecodeUsage(payload); usage.ok())
                                            summaries.Add(*usage);
                                        });
  if (!visited.ok()) return visited;
  Json answer = Json::array();
  for (const UsageSummary& summary : std::move(summaries).Take()) {
    if (static_cast<int64_t>(answer.size()) == *limit) break;
    answer.push_back(UsageJson(summary));
  }
  return answer;
}

QueryApi::Answer QueryApi::Losses(const QueryString& query) const {
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  auto losses = store_->Losses(FilterOf(query));
  if (!losses.ok()) return losses.status();
  Json answer = Json::array();
  for (const LossRow& loss : *losses) {
    if (static_cast<int64_t>(answer.size()) == *limit) break;
    answer.push_back(LossJson(loss));
  }
  return answer;
}

QueryApi::Answer QueryApi::OneReport(std::string_view id) const {
  auto resolved = ResolveId(id);
  if (!resolved.ok()) return resolved.status();
  auto stored = store_->FindReport(*resolved);
  if (!stored.ok()) return stored.status();
  auto report = Decode(**stored);
  if (!report.ok()) return report.status();
  auto clusters = store_->Clusters();
  if (!clusters.ok()) return clusters.status();
  const ReportRow& row = (*stored)->row;
  Json answer = ReportHeaderJson(row, clusters->at(row.level1_key).frames);
  AddStacks(*report, &answer);
  AddWaits(*report, wait_frames_, &answer);
  AddCircumstances(*report, &answer);
  AddPowerTree(*report, &answer);
  return answer;
}

Result<base::Uuid> QueryApi::ResolveId(std::string_view id) const {
  constexpr std::string_view kFirst = "00000000-0000-0000-0000-000000000000";
  constexpr std::string_view kLast = "ffffffff-ffff-ffff-ffff-ffffffffffff";
  size_t known = std::min(id.size(), kFirst.size());
  auto first = base::TryParseUuid(std::string(id) + std::string(kFirst.substr(known)));
  auto last = base::TryParseUuid(std::string(id) + std::string(kLast.substr(known)));
  if (!first || !last) {
    return Status(StatusCode::kInvalid, "a report's id looks like 01932d5c-7a4e-7cc0-98c4-dc0c0c07398f");
  }
  auto ids = store_->FindIds(*first, *last, 2);
  if (!ids.ok()) return ids.status();
  if (ids->empty())
    return Status(StatusCode::kNotFound, "there is no such report; " + std::string(kReports) + " lists them");
  if (ids->size() > 1) return Status(StatusCode::kInvalid, "several reports' ids begin so; give more of it");
  return ids->front();
}

}  // namespace lagwatch::collector
