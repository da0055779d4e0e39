// SPDX-License-Identifier: Apache-2.0
#include "collector/query/query_api.h"

#include <algorithm>
#include <map>
#include <optional>

#include "collector/query/cluster_json.h"
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
constexpr int64_t kMaxOffset = 1'000'000;

// What follows `collection` and a slash in `path`; empty when nothing does.
std::string_view ItemOf(std::string_view collection, std::string_view path) {
  if (!path.starts_with(collection)) return {};
  path.remove_prefix(collection.size());
  return path.starts_with('/') ? path.substr(1) : std::string_view();
}

// The day that holds that time, or nothing without it.
Result<std::optional<int64_t>> DayAt(const QueryString& query, std::string_view name) {
  if (query.Get(name).empty()) return std::optional<int64_t>();
  auto wall_ms = query.GetInt(name, 0, 0, INT64_MAX);
  if (!wall_ms.ok()) return wall_ms.status();
  return std::optional(*wall_ms / kMsPerDay);
}

Result<ReportFilter> FilterOf(const QueryString& query) {
  ReportFilter filter{.app = query.Get("app"),
                      .version = query.Get("version"),
                      .kind = query.Get("kind"),
                      .verdict = query.Get("verdict"),
                      .loop = query.Get("loop"),
                      .os = query.Get("os"),
                      .user = query.Get("user"),
                      .cluster_key = query.Get("cluster")};
  auto first_day = DayAt(query, "from_ms");
  if (!first_day.ok()) return first_day.status();
  auto last_day = DayAt(query, "to_ms");
  if (!last_day.ok()) return last_day.status();
  filter.first_day = *first_day;
  filter.last_day = *last_day;
  return filter;
}

Status NoSuchCluster() {
  return {StatusCode::kNotFound, "there is no such cluster; " + std::string(kClusters) + " lists them all"};
}

Status NoSuchReport() {
  return {StatusCode::kNotFound, "there is no such report; " + std::string(kReports) + " lists them"};
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
  auto offset = query.GetInt("offset", 0, 0, kMaxOffset);
  if (!offset.ok()) return offset.status();
  auto filter = FilterOf(query);
  if (!filter.ok()) return filter.status();
  filter->cluster_key.clear();
  auto page = store_->Causes(
      {.filter = *filter, .level = static_cast<int>(*level), .limit = *limit, .offset = *offset});
  if (!page.ok()) return page.status();
  Json answer = Json::array();
  for (const CauseRow& cause : page->causes)
    answer.push_back(ClusterJson(cause, page->all.estimated_hang_ns));
  return answer;
}

QueryApi::Answer QueryApi::OneCluster(std::string_view key) const {
  auto cause = store_->FindCause(std::string(key));
  if (!cause.ok()) return cause.status();
  if (!*cause) return NoSuchCluster();
  auto reports = store_->Reports({.cluster_key = std::string(key)}, kDefaultLimit);
  if (!reports.ok()) return reports.status();
  if (reports->empty()) return NoSuchCluster();
  auto newest = store_->FindReport(reports->front().id);
  if (!newest.ok()) return newest.status();
  if (!*newest) return NoSuchCluster();
  auto decoded = Decode(**newest);
  if (!decoded.ok()) return decoded.status();
  auto days = store_->CauseDays(std::string(key));
  if (!days.ok()) return days.status();
  auto all = store_->Causes({.limit = 0});
  if (!all.ok()) return all.status();

  Json answer = ClusterJson(**cause, all->all.estimated_hang_ns);
  answer["days"] = DaysJson(*days);
  answer["stack"] = ExpensiveStackJson(*decoded, SymbolNamer(*decoded, symbolizer_));
  answer["report_ids"] = Json::array();
  for (const ReportRow& report : *reports) answer["report_ids"].push_back(base::ToString(report.id));
  return answer;
}

QueryApi::Answer QueryApi::Reports(const QueryString& query) const {
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  auto filter = FilterOf(query);
  if (!filter.ok()) return filter.status();
  std::optional<base::Uuid> before;
  if (const std::string id = query.Get("before"); !id.empty()) {
    before = base::TryParseUuid(id);
    if (!before) return Status(StatusCode::kInvalid, "before must be the id of a report");
  }
  auto reports = store_->Reports(*filter, *limit, before);
  if (!reports.ok()) return reports.status();
  std::map<std::string, Cluster> clusters;
  Json answer = Json::array();
  for (const ReportRow& report : *reports) {
    auto known = clusters.find(report.level1_key);
    if (known == clusters.end()) {
      auto found = store_->FindCluster(report.level1_key);
      if (!found.ok()) return found.status();
      known = clusters.emplace(report.level1_key, found->value_or(Cluster{})).first;
    }
    answer.push_back(ReportHeaderJson(report, known->second.frames));
  }
  return answer;
}

QueryApi::Answer QueryApi::Frames(const QueryString& query) const {
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  auto filter = FilterOf(query);
  if (!filter.ok()) return filter.status();
  auto summaries = store_->Frames(*filter, *limit);
  if (!summaries.ok()) return summaries.status();
  Json answer = Json::array();
  for (const FrameSummary& summary : *summaries) answer.push_back(FramesJson(summary));
  return answer;
}

QueryApi::Answer QueryApi::Usage(const QueryString& query) const {
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  UsageSummaries summaries;
  auto filter = FilterOf(query);
  if (!filter.ok()) return filter.status();
  Status visited = store_->ForEachUsage(*filter, [&](std::string_view payload) {
    if (auto usage = report::DecodeUsage(payload); usage.ok()) summaries.Add(*usage);
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
  auto filter = FilterOf(query);
  if (!filter.ok()) return filter.status();
  auto losses = store_->Losses(*filter);
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
  if (!*stored) return NoSuchReport();
  auto report = Decode(**stored);
  if (!report.ok()) return report.status();
  const ReportRow& row = (*stored)->row;
  auto cluster = store_->FindCluster(row.level1_key);
  if (!cluster.ok()) return cluster.status();
  Json answer = ReportHeaderJson(row, cluster->value_or(Cluster{}).frames);
  const SymbolNamer namer(*report, symbolizer_);
  AddStacks(*report, namer, &answer);
  AddWaits(*report, namer, wait_frames_, &answer);
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
  if (ids->empty()) return NoSuchReport();
  if (ids->size() > 1) return Status(StatusCode::kInvalid, "several reports' ids begin so; give more of it");
  return ids->front();
}

}  // namespace lagwatch::collector
