// SPDX-License-Identifier: Apache-2.0
// Causes of the store in ClickHouse: from their sums, or else from the reports themselves.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collector/store/clickhouse/clickhouse_store.h"
#include "collector/store/clickhouse/server/conditions.h"
#include "collector/store/cluster_search.h"
#include "collector/store/loss_weights.h"
#include "collector/store/report_summer.h"
#include "report/format/losses.h"

namespace lagwatch::collector {
namespace {

// Of rows with the same key, the one with the most fields.
constexpr char kNamedOnce[] = " ORDER BY key, via = '', ver DESC LIMIT 1 BY key";

// Losses are known by programs' versions, not by other parts of a filter.
bool CountsLosses(const ReportFilter& filter) {
  const bool has_days = filter.first_day || filter.last_day;
  ReportFilter of_days;
  of_days.first_day = filter.first_day;
  of_days.last_day = filter.last_day;
  return !HasTextsOfReports(filter) && filter.cluster_key.empty() && (!has_days || filter == of_days);
}

std::function<double(const std::string&)> OfCluster(const std::unordered_map<std::string, double>& lost) {
  return [&lost](const std::string& key) {
    const auto found = lost.find(key);
    return found != lost.end() ? found->second : 0;
  };
}

}  // namespace

std::unique_ptr<SummedCauses> ClickHouseStore::OpenSums(const ReportFilter& filter) {
  return SummedCauses::Open(&connection_, &schema_, &hangs_, &units_, filter);
}

Result<CausePage> ClickHouseStore::Causes(const CauseQuery& query) {
  return Answer([&]() -> CausePage {
    const LostOfClusters lost = CountsLosses(query.filter) ? ReadLostPerReport() : LostOfClusters();
    const auto lost_of = OfCluster(lost);
    const auto found = query.text.empty() ? std::nullopt : std::optional(FindKeys(query));
    const auto* wanted = found ? &*found : nullptr;
    CausePage page;
    if (const auto sums = OpenSums(query.filter)) {
      page = sums->Causes(query, wanted, lost_of);
    } else {
      ReportSummer summer(lost_of);
      hangs_.ForEach(query.filter, [&](const ReportRow& report) { summer.Add(report); });
      page = summer.ToPage(query, wanted);
    }
    Name(&page);
    return page;
  });
}

Result<std::optional<CauseRow>> ClickHouseStore::FindCause(const std::string& key,
                                                           const ReportFilter& filter) {
  return Answer([&]() -> std::optional<CauseRow> {
    const auto cluster = ReadCluster(key);
    if (!cluster) return std::nullopt;
    const LostOfClusters lost = CountsLosses(filter) ? ReadLostPerReport() : LostOfClusters();
    const auto lost_of = OfCluster(lost);
    CausePage page;
    if (const auto sums = OpenSums(filter)) {
      page.causes = {sums->Cause(*cluster, lost_of)};
    } else {
      ReportSummer summer(lost_of);
      ReportFilter of_cluster = filter;
      of_cluster.cluster_key = key;
      hangs_.ForEach(of_cluster, [&](const ReportRow& report) { summer.Add(report); });
      page.causes = {summer.ToCause(key, cluster->level, kAllChildren)};
    }
    if (page.causes.front().sums.reports == 0) return std::nullopt;
    Name(&page);
    return std::move(page.causes.front());
  });
}

Result<std::vector<CauseVersion>> ClickHouseStore::CauseVersions(const std::string& key,
                                                                 const ReportFilter& filter) {
  return Answer([&]() -> std::vector<CauseVersion> {
    const auto cluster = ReadCluster(key);
    if (!cluster) return {};
    VersionSums versions;
    if (const auto sums = OpenSums(filter)) {
      versions = sums->Versions(*cluster);
    } else {
      ReportFilter of_cluster = filter;
      of_cluster.cluster_key = key;
      hangs_.ForEach(of_cluster, [&](const ReportRow& report) { versions.Add(report); });
    }
    LostOfClusters lost = CountsLosses(filter) ? ReadLostPerReport() : LostOfClusters();
    return std::move(versions).Take(lost[key]);
  });
}

Result<std::vector<CausePeriod>> ClickHouseStore::CauseDays(const std::string& key) {
  return Answer([&]() -> std::vector<CausePeriod> {
    const auto cluster = ReadCluster(key);
    if (!cluster) return {};
    std::map<int64_t, CauseSums> sums_of_days;
    if (const auto sums = OpenSums({})) {
      sums_of_days = sums->Days(*cluster);
    } else {
      hangs_.ForEach({.cluster_key = key}, [&](const ReportRow& report) {
        if (IsCounted(report.kind)) ContributionOf(report).AddTo(&sums_of_days[DayOf(report.id)], 1);
      });
    }
    std::vector<CausePeriod> days;
    for (const auto& [day, sum] : sums_of_days) days.push_back({day * kMsPerDay, sum});
    return days;
  });
}

Result<DaysOfCauses> ClickHouseStore::CostByDay(std::span<const std::string> keys, int64_t first_day,
                                                int64_t last_day) {
  return Answer([&]() -> DaysOfCauses {
    const ReportFilter of_days{.first_day = first_day, .last_day = last_day};
    if (const auto sums = OpenSums(of_days)) {
      std::vector<Cluster> clusters;
      for (auto& [key, cluster] : ReadClusters({keys.begin(), keys.end()}))
        clusters.push_back(std::move(cluster));
      return sums->CostByDay(clusters);
    }
    std::map<std::string, std::map<int64_t, CauseSums>> sums;
    for (const std::string& key : keys) sums[key];
    hangs_.ForEach(of_days, [&](const ReportRow& report) {
      if (!IsCounted(report.kind)) return;
      for (const std::string& key : {report.level1_key, report.level2_key}) {
        const auto wanted = sums.find(key);
        if (wanted != sums.end()) ContributionOf(report).AddTo(&wanted->second[DayOf(report.id)], 1);
      }
    });
    DaysOfCauses days;
    for (const auto& [key, of_key] : sums) {
      for (const auto& [day, sum] : of_key) days[key].push_back({day, sum.weighted_hang_ns});
    }
    return days;
  });
}

std::optional<Cluster> ClickHouseStore::ReadCluster(const std::string& key) {
  auto found = ReadClusters({key});
  return found.empty() ? std::nullopt : std::optional(std::move(found.begin()->second));
}

std::set<std::string> ClickHouseStore::FindKeys(const CauseQuery& query) {
  std::set<std::string> keys(query.titled_keys.begin(), query.titled_keys.end());
  const ClusterSearch search(query.text);
  const std::string in_json = SqlText(search.in_json());
  connection_.Select("SELECT key, frames, via, held_by FROM (SELECT key, level, frames, via, held_by FROM " +
                         schema_.All(kClusters) + kNamedOnce +
                         ") WHERE level = " + std::to_string(query.level) + " AND (position(lower(frames), " +
                         in_json + ") > 0 OR position(lower(via), " + SqlText(search.text()) +
                         ") > 0 OR position(lower(held_by), " + in_json + ") > 0)",
                     "ssss", [&](const Row& row) {
                       if (search.IsIn(row.Text(1), row.Text(2), row.Text(3))) keys.insert(row.Text(0));
                     });
  return keys;
}

std::unordered_map<std::string, Cluster> ClickHouseStore::ReadClusters(const std::vector<std::string>& keys) {
  std::unordered_map<std::string, Cluster> clusters;
  if (keys.empty()) return clusters;
  const ExternalTable external = ExternalTable::OfTexts(keys);
  connection_.Select(
      "SELECT key, level, parent, frames, via, held_by FROM " + schema_.All(kClusters) +
          " WHERE key IN (SELECT text FROM texts)" + kNamedOnce,
      "sissss",
      [&](const Row& row) {
        clusters[row.Text(0)] = {.key = row.Text(0),
                                 .level = static_cast<int>(row.Int(1)),
                                 .parent_key = row.Text(2),
                                 .frames = NamesFromJson(row.Text(3)),
                                 .via = row.Text(4),
                                 .held_by = NamesFromJson(row.Text(5))};
      },
      &external);
  return clusters;
}

void ClickHouseStore::Name(CausePage* page) {
  std::vector<std::string> keys;
  ForEachCause(page, [&](const CauseRow* cause) { keys.push_back(cause->cluster.key); });
  auto clusters = ReadClusters(keys);
  ForEachCause(page, [&](CauseRow* cause) { cause->cluster = clusters[cause->cluster.key]; });
}

// Summed up here, in one order: so each collector says the same of the same rows.
std::vector<LossRow> ClickHouseStore::ReadLosses(const ReportFilter& filter) {
  std::map<std::tuple<int64_t, std::string, std::string, std::string>, std::pair<double, double>> sums;
  connection_.Select("SELECT app, version, reason, cause, sample_rate_ppm, sum(toFloat64(least(count, " +
                         std::to_string(kMostLostAtOnce) +
                         "))) AS reports FROM (SELECT app,"
                         " version, reason, cause, sample_rate_ppm, count FROM " +
                         schema_.All(kLosses) + " WHERE " + OfProgram(filter) +
                         " ORDER BY id, position, ver DESC LIMIT 1 BY id, position)"
                         " GROUP BY app, version, reason, cause, sample_rate_ppm"
                         " ORDER BY app, version, reason, cause, sample_rate_ppm",
                     "sssiid", [&](const Row& row) {
                       auto& [reports, weighted] = sums[{row.Int(3), row.Text(2), row.Text(0), row.Text(1)}];
                       // Users who are not sampled report that only for themselves.
                       const bool is_of_all =
                           row.Text(2) == report::LossReasonName(report::LossReason::kNotSampled);
                       reports += row.Real(5);
                       weighted += row.Real(5) * (is_of_all ? 1 : WeightOf(row.Int(4)));
                     });
  std::vector<LossRow> losses;
  for (const auto& [key, sum] : sums) {
    const auto& [cause, reason, app, version] = key;
    losses.push_back({.app = app,
                      .version = version,
                      .reason = reason,
                      .cause = cause,
                      .count = WholeNumber(sum.first),
                      .weighted_count = sum.second});
  }
  std::ranges::stable_sort(losses, std::greater(), &LossRow::weighted_count);
  return losses;
}

SummedCauses::ReportCounts ClickHouseStore::CountReports(const std::set<int64_t>& causes) {
  if (const auto sums = OpenSums({})) return sums->CountReports(causes);
  SummedCauses::ReportCounts counts;
  hangs_.ForEach({}, [&](const ReportRow& report) {
    if (!IsCounted(report.kind)) return;
    for (const std::string& key : {std::string(), report.level1_key, report.level2_key}) {
      ++counts.reports[key];
      if (causes.contains(report.cause)) ++counts.of_causes[{report.cause, key}];
    }
  });
  return counts;
}

// A lost report is taken for one like those of its cause that came: each cluster has the share of a cause's
// losses that it has of its reports.
ClickHouseStore::LostOfClusters ClickHouseStore::ReadLostPerReport() {
  std::unordered_map<int64_t, double> lost;
  for (const LossRow& loss : ReadLosses({})) {
    if (loss.cause != 0 && loss.reason != report::LossReasonName(report::LossReason::kNotSampled))
      lost[loss.cause] += loss.weighted_count;
  }
  if (lost.empty()) return {};
  std::set<int64_t> causes;
  for (const auto& [cause, count] : lost) causes.insert(cause);
  auto [reports, reports_of_causes] = CountReports(causes);
  LostOfClusters lost_per_report;
  for (const auto& [key, count] : reports_of_causes) {
    const auto& [cause, cluster] = key;
    const auto of_cause = static_cast<double>(reports_of_causes[{cause, std::string()}]);
    const double of_each = std::min(lost[cause] / of_cause, kMostLostPerReport);
    lost_per_report[cluster] += of_each * static_cast<double>(count) / static_cast<double>(reports[cluster]);
  }
  return lost_per_report;
}

}  // namespace lagwatch::collector
