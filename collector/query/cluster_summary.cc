// SPDX-License-Identifier: Apache-2.0
#include "collector/query/cluster_summary.h"

#include <algorithm>
#include <numeric>

#include "report/format/losses.h"
#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

void SortWorstFirst(std::vector<ClusterSummary>* summaries) {
  std::sort(summaries->begin(), summaries->end(), [](const ClusterSummary& a, const ClusterSummary& b) {
    return std::pair(-a.estimated_hang_ns, a.cluster.key) < std::pair(-b.estimated_hang_ns, b.cluster.key);
  });
}

// Of how many users' reports this is one.
double WeightOf(int64_t sample_rate_ppm) {
  constexpr double kAllPpm = 1'000'000;
  return sample_rate_ppm <= 0 ? 1 : std::max(1.0, kAllPpm / static_cast<double>(sample_rate_ppm));
}

// Reports of users that are not sampled are not among them: the weights of those that are stand for them.
std::map<int64_t, double> LostByCause(const std::vector<LossRow>& losses) {
  std::map<int64_t, double> lost;
  for (const LossRow& loss : losses) {
    const bool is_estimated = loss.reason == report::LossReasonName(report::LossReason::kNotSampled);
    if (!is_estimated && loss.cause != 0) lost[loss.cause] += loss.weighted_count;
  }
  return lost;
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
  ++reports_by_cause_[report.cause];
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
  ++sum->reports_by_cause[report.cause];
  if (report.kind == report::KindName(report::Kind::kCpu) ||
      report.kind == report::KindName(report::Kind::kCpuAverage)) {
    return;  // nothing lagged
  }
  Lag& lag = sum->lags[report.lag_id.bytes];
  lag.duration_ns = std::max(lag.duration_ns, LagDurationNs(report));
  lag.weight = WeightOf(report.sample_rate_ppm);
}

// A lost report is taken for one like those of its cause that came: of their clusters, their number a lag,
// and their durations.
void ClusterSummaries::Estimate(const std::map<int64_t, double>& lost_by_cause, Sum* sum) const {
  ClusterSummary& summary = sum->summary;
  for (const auto& [id, lag] : sum->lags) {
    summary.estimated_lags += lag.weight;
    summary.estimated_hang_ns += lag.weight * static_cast<double>(lag.duration_ns);
  }
  double lost_reports = 0;
  for (const auto& [cause, reports] : sum->reports_by_cause) {
    const auto lost = lost_by_cause.find(cause);
    if (lost == lost_by_cause.end()) continue;
    lost_reports +=
        lost->second * static_cast<double>(reports) / static_cast<double>(reports_by_cause_.at(cause));
  }
  const double of_a_report = 1 / static_cast<double>(summary.reports);
  const double lags = static_cast<double>(sum->lags.size());
  summary.estimated_lags += lost_reports * lags * of_a_report;
  summary.estimated_hang_ns += lost_reports * summary.hang_ns() * of_a_report;
}

std::vector<ClusterSummary> ClusterSummaries::Take(int level, const std::map<std::string, Cluster>& clusters,
                                                   const std::vector<LossRow>& losses) && {
  const std::map<int64_t, double> lost_by_cause = LostByCause(losses);
  std::map<std::string, std::vector<ClusterSummary>> by_parent;
  for (auto& [key, sum] : sums_) {
    ClusterSummary& summary = sum.summary;
    summary.cluster = clusters.at(key);
    for (const auto& [id, lag] : sum.lags) summary.lag_durations_ns.push_back(lag.duration_ns);
    std::sort(summary.lag_durations_ns.begin(), summary.lag_durations_ns.end());
    Estimate(lost_by_cause, &sum);
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
