// SPDX-License-Identifier: Apache-2.0
#include "collector/query/query_api.h"

#include <algorithm>
#include <map>
#include <optional>

#include "collector/query/csv_text.h"
#include "collector/query/report_filter.h"
#include "collector/query/report_json.h"
#include "collector/query/usage_summary.h"
#include "collector/store/report_summer.h"

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
constexpr std::string_view kMissingSymbols = "/v1/missing-symbols";
constexpr int64_t kMsPerHour = 3'600'000;
constexpr int64_t kDefaultLimit = 100;
constexpr int64_t kMaxLimit = 1000;
constexpr int64_t kMaxOffset = 1'000'000;

// What follows `collection` and a slash in `path`; empty when nothing does.
std::string_view ItemOf(std::string_view collection, std::string_view path) {
  if (!path.starts_with(collection)) return {};
  path.remove_prefix(collection.size());
  return path.starts_with('/') ? path.substr(1) : std::string_view();
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

std::string ModuleOf(const StoredReport& stored, const std::string& build_id) {
  const auto report = report::DecodeReport(stored.payload);
  if (!report.ok()) return "";
  const auto module = std::ranges::find(report->modules, build_id, &report::Module::build_id);
  return module == report->modules.end() ? "" : module->path;
}

}  // namespace

Response QueryApi::Get(std::string_view path, std::string_view query_text) const {
  auto query = QueryString::Parse(query_text);
  if (!query.ok()) return ErrorResponse(query.status());
  const std::string format = query->Get("format");
  if (!format.empty() && format != "json" && format != "csv")
    return ErrorResponse(Status(StatusCode::kInvalid, "format must be json or csv"));
  Answer answer = Dispatch(path, *query);
  if (!answer.ok()) return ErrorResponse(answer.status());
  if (format != "csv") return {200, JsonText(*answer)};
  if (!answer->is_array()) return ErrorResponse(Status(StatusCode::kInvalid, "only lists can be had as CSV"));
  return {.status = 200, .body = CsvText(*answer), .content_type = "text/csv; charset=utf-8"};
}

QueryApi::Answer QueryApi::Dispatch(std::string_view path, const QueryString& query) const {
  if (path == kClusters) return Clusters(query);
  if (path == kReports) return Reports(query);
  if (path == kFrames) return Frames(query);
  if (path == kUsage) return Usage(query);
  if (path == kLosses) return Losses(query);
  if (path == kMissingSymbols) return MissingSymbols(query);
  if (auto key = ItemOf(kClusters, path); !key.empty()) return OneCluster(key, query);
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
  auto filter = ParseFilter(query);
  if (!filter.ok()) return filter.status();
  filter->cluster_key.clear();
  auto page = book_.Causes(
      {.filter = *filter, .level = static_cast<int>(*level), .limit = *limit, .offset = *offset});
  if (!page.ok()) return page.status();
  auto watched_ns = WatchedNs(*filter);
  if (!watched_ns.ok()) return watched_ns.status();
  Json answer = Json::array();
  for (const ShownCause& cause : page->causes)
    answer.push_back(ClusterJson(cause, {page->all.estimated_hang_ns, *watched_ns}));
  return answer;
}

// Of one user alone it is not kept.
Result<double> QueryApi::WatchedNs(const ReportFilter& filter) const {
  return filter.user.empty() ? store_->WatchedNs(filter) : 0.0;
}

Result<CostOfAll> QueryApi::CostOf(const ReportFilter& filter) const {
  auto all = store_->Causes({.filter = filter, .limit = 0});
  if (!all.ok()) return all.status();
  auto watched_ns = WatchedNs(filter);
  if (!watched_ns.ok()) return watched_ns.status();
  return CostOfAll{all->all.estimated_hang_ns, *watched_ns};
}

QueryApi::Answer QueryApi::OneCluster(std::string_view key, const QueryString& query) const {
  auto filter = ParseFilter(query);
  if (!filter.ok()) return filter.status();
  auto cause = book_.Find(std::string(key), *filter);
  if (!cause.ok()) return cause.status();
  if (!*cause) return NoSuchCluster();
  filter->cluster_key = (*cause)->row.cluster.key;
  auto reports = book_.Reports(*filter, kDefaultLimit);
  if (!reports.ok()) return reports.status();
  auto chosen = Representative(**cause, *reports);
  if (!chosen.ok()) return chosen.status();
  if (!*chosen) return NoSuchCluster();
  auto decoded = Decode(**chosen);
  if (!decoded.ok()) return decoded.status();
  auto days = book_.Days(**cause);
  if (!days.ok()) return days.status();
  filter->cluster_key.clear();
  auto all = CostOf(*filter);
  if (!all.ok()) return all.status();

  Json answer = ClusterJson(**cause, *all);
  answer["days"] = PeriodsJson(*days);
  if (query.Get("trend") == "hour") {
    auto hours = Hours(**cause, *filter);
    if (!hours.ok()) return hours.status();
    answer["hours"] = std::move(*hours);
  }
  answer["representative"] = base::ToString((*chosen)->row.id);
  answer["stack"] = ExpensiveStackJson(*decoded, SymbolNamer(*decoded, symbolizer_));
  answer["report_ids"] = Json::array();
  for (const ReportRow& report : *reports) answer["report_ids"].push_back(base::ToString(report.id));
  return answer;
}

// Of the newest, the one whose lag is counted here and lasted about as long as most of the cause's do.
Result<std::optional<StoredReport>> QueryApi::Representative(const ShownCause& cause,
                                                             const std::vector<ReportRow>& newest) const {
  if (newest.empty()) return std::optional<StoredReport>();
  const int64_t median_ns = cause.row.sums.durations.PercentileNs(50);
  auto distance = [&](const ReportRow& report) {
    return std::pair(!report.is_lead, std::abs(LagDurationNs(report) - median_ns));
  };
  const auto chosen = std::ranges::min_element(newest, {}, distance);
  return store_->FindReport(chosen->id);
}

// Of the filter's days or, without one, the week up to the last report.
QueryApi::Answer QueryApi::Hours(const ShownCause& cause, const ReportFilter& filter) const {
  ReportFilter part = filter;
  if (!part.last_day) part.last_day = cause.row.sums.last_seen_ms / kMsPerDay;
  if (!part.first_day) part.first_day = *part.last_day - 6;
  std::vector<std::string> keys = cause.merged_keys;
  keys.push_back(cause.row.cluster.key);
  std::map<int64_t, CauseSums> hours;
  for (const std::string& key : keys) {
    part.cluster_key = key;
    Status visited = store_->ForEachReport(part, [&](const ReportRow& report) {
      const Contribution contribution = ContributionOf(report);
      contribution.AddTo(&hours[report.start_wall_ms / kMsPerHour * kMsPerHour], 1);
    });
    if (!visited.ok()) return visited;
  }
  std::vector<CausePeriod> periods;
  for (auto& [begin_ms, sums] : hours) periods.push_back({begin_ms, std::move(sums)});
  return PeriodsJson(periods);
}

QueryApi::Answer QueryApi::Reports(const QueryString& query) const {
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  auto filter = ParseFilter(query);
  if (!filter.ok()) return filter.status();
  std::optional<base::Uuid> before;
  if (const std::string id = query.Get("before"); !id.empty()) {
    before = base::TryParseUuid(id);
    if (!before) return Status(StatusCode::kInvalid, "before must be the id of a report");
  }
  auto reports = book_.Reports(*filter, *limit, before);
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
  auto filter = ParseFilter(query);
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
  auto filter = ParseFilter(query);
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
  auto filter = ParseFilter(query);
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

// The file's name is that of one report; others may have it elsewhere.
QueryApi::Answer QueryApi::MissingSymbols(const QueryString& query) const {
  auto limit = query.GetInt("limit", kDefaultLimit, 1, kMaxLimit);
  if (!limit.ok()) return limit.status();
  auto builds = store_->UnnamedBuilds(*limit);
  if (!builds.ok()) return builds.status();
  Json answer = Json::array();
  for (const UnnamedBuild& build : *builds) {
    auto reports = store_->ReportsWithUnnamed(build.build_id, 1);
    if (!reports.ok()) return reports.status();
    answer.push_back({{"build_id", HexBytes(build.build_id)},
                      {"module", reports->empty() ? "" : ModuleOf(reports->front(), build.build_id)},
                      {"reports", build.reports}});
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
  AddWaits(*report, namer, rules_, &answer);
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
