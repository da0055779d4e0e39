// SPDX-License-Identifier: Apache-2.0
#include "collector/query/cluster_summary.h"

#include <algorithm>
#include <numeric>

#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

void SortWorstFirst(std::vector<ClusterSummary>* summaries) {
  std::sort(summaries->begin(), summaries->end(), [](const ClusterSummary& a, const ClusterSummary& b) {
    return std::pair(-a.hang_ns(), a.cluster.key) < std::pair(-b.hang_ns(), b.cluster.key);
  });
}

}  // namespace

int64_t LagDurationNs(const ReportRow& report) { return report.duration_ns.value_or(report.elapsed_ns); }

double ClusterSummary::hang_ns() const {
  return std::accumulate(lag_durations_ns.begin(), lag_durations_ns.end(), 0.0);
}

int64_t ClusterSummary::DurationPercentileNs(int percent) const {
  if (lag_durations_ns.empty()) return 0;
  size_t rank = (lag_durations_ns.size() * percent + 99) / 100;
  return lag_durations_ns[rank - 1];
}

void ClusterSummaries::Add(const ReportRow& report) {
  if (report.kind == report::KindName(report::Kind::kDump)) return;  // nothing hung
  AddTo(&sums_[report.level1_key], report);
  AddTo(&sums_[report.level2_key], report);
}

void ClusterSummaries::AddTo(Sum* sum, const ReportRow& report) {
  ClusterSummary& summary = sum->summary;
  bool is_first = summary.reports++ == 0;
  summary.first_seen_ms =
      is_first ? report.start_wall_ms : std::min(summary.first_seen_ms, report.start_wall_ms);
  summary.last_seen_ms = std::max(summary.last_seen_ms, report.start_wall_ms);
  if (!report.user.empty()) summary.users.insert(report.user);
  summary.apps.insert(report.app);
  summary.versions.insert(report.version);
  if (report.kind == report::KindName(report::Kind::kCpu) ||
      report.kind == report::KindName(report::Kind::kCpuAverage)) {
    return;  // nothing lagged
  }
  int64_t& lag_ns = sum->lags_ns[report.lag_id.bytes];
  lag_ns = std::max(lag_ns, LagDurationNs(report));
}

std::vector<ClusterSummary> ClusterSummaries::Take(int level,
                                                   const std::map<std::string, Cluster>& clusters) && {
  std::map<std::string, std::vector<ClusterSummary>> by_parent;
  for (auto& [key, sum] : sums_) {
    ClusterSummary& summary = sum.summary;
    summary.cluster = clusters.at(key);
    for (const auto& [lag, duration_ns] : sum.lags_ns) summary.lag_durations_ns.push_back(duration_ns);
    std::sort(summary.lag_durations_ns.begin(), summary.lag_durations_ns.end());
    if (summary.cluster.level == 2) by_parent[summary.cluster.parent_key].push_back(summary);
  }
  std::vector<ClusterSummary> taken;
  for (auto& [key, sum] : sums_) {
    if (sum.summary.cluster.level != level) continue;
    if (auto children = by_parent.find(key); children != by_parent.end()) {
      SortWorstFirst(&children->second);
      sum.summary.children = std::move(children->second);
    }
    taken.push_back(std::move(sum.summary));
  }
  SortWorstFirst(&taken);
  return taken;
}

}  // namespace lagwatch::collector
