// SPDX-License-Identifier: Apache-2.0
#include "collector/store/report_summer.h"

#include <algorithm>
#include <utility>

#include "policies/cluster/version_order.h"

namespace lagwatch::collector {
namespace {

using NameCost = const NameCosts::value_type*;

CauseNames Costliest(const NameCosts& costs, NameCost always) {
  std::vector<NameCost> entries;
  for (const auto& entry : costs) entries.push_back(&entry);
  if (entries.size() > kMostNamesOfACause) {
    const auto order = [always](NameCost entry) { return std::pair(entry != always, -entry->second); };
    std::ranges::nth_element(entries, entries.begin() + kMostNamesOfACause, {}, order);
    entries.resize(kMostNamesOfACause);
  }
  CauseNames names;
  for (NameCost entry : entries) names.names.push_back(entry->first);
  std::ranges::sort(names.names);
  names.more = static_cast<int64_t>(costs.size() - entries.size());
  return names;
}

}  // namespace

Contribution ContributionOf(const ReportRow& report) {
  return {.hangs = report.is_lead ? 1 : 0,
          .hang_ns = report.hang_ns,
          .duration_ns = HangDurationNs(report),
          .weight = WeightOf(report.sample_rate_ppm),
          .seen_ms = report.start_wall_ms,
          .capped_ns = report.capped_ns,
          .user = CountedUser(report.user, report.session_id)};
}

void Estimate(double lost_per_report, CauseRow* cause) {
  const CauseSums& sums = cause->sums;
  cause->estimated_hangs = sums.weighted_hangs + lost_per_report * static_cast<double>(sums.hangs);
  cause->estimated_hang_ns = EstimatedHangNs(lost_per_report, sums);
}

double EstimatedHangNs(double lost_per_report, const CauseSums& sums) {
  return sums.weighted_hang_ns + lost_per_report * sums.hang_ns;
}

void CauseTotals::AddNames(const std::string& app, const std::string& version, const std::string& verdict,
                           double hang_ns) {
  apps[app] += hang_ns;
  versions[version] += hang_ns;
  verdicts[verdict] += hang_ns;
}

void AddVersion(const std::string& version, CauseRow* cause) {
  if (version.empty()) return;
  if (cause->first_version.empty() || policies::IsOlderVersion(version, cause->first_version))
    cause->first_version = version;
  if (cause->last_version.empty() || policies::IsOlderVersion(cause->last_version, version))
    cause->last_version = version;
}

void CauseTotals::WriteNamesTo(CauseRow* cause) const {
  CauseNames of_apps = CostliestNames(apps);
  CauseNames of_versions = CostliestVersions(versions);
  cause->apps = std::move(of_apps.names);
  cause->more_apps = of_apps.more;
  cause->versions = std::move(of_versions.names);
  cause->more_versions = of_versions.more;
  cause->first_version = cause->last_version = "";
  for (const auto& [version, cost] : versions) AddVersion(version, cause);
  cause->verdicts.assign(verdicts.begin(), verdicts.end());
  std::ranges::stable_sort(cause->verdicts, std::greater(), &std::pair<std::string, double>::second);
}

void SortByCost(std::vector<CauseRow>* causes) {
  std::ranges::sort(*causes, [](const CauseRow& a, const CauseRow& b) {
    return std::pair(-a.estimated_hang_ns, a.cluster.key) < std::pair(-b.estimated_hang_ns, b.cluster.key);
  });
}

void ForEachCause(CausePage* page, const std::function<void(CauseRow*)>& visit) {
  for (CauseRow& cause : page->causes) {
    visit(&cause);
    for (CauseRow& child : cause.children) visit(&child);
  }
}

ReportSummer::ReportSummer(LostPerReport lost_per_report)
    : lost_per_report_(lost_per_report ? std::move(lost_per_report)
                                       : [](const std::string&) { return 0.0; }) {}

void ReportSummer::Add(const ReportRow& report) {
  if (!IsCounted(report.kind)) return;
  AddTo(&all_, report);
  AddTo(&levels_[0][report.level1_key], report);
  AddTo(&levels_[1][report.level2_key], report);
  children_[report.level1_key].insert(report.level2_key);
}

CausePage ReportSummer::ToPage(const CauseQuery& query, const std::set<std::string>* wanted) const {
  CausePage page{.causes = {}, .all = ToRow("", all_)};
  for (const auto& [key, sum] : levels_[static_cast<size_t>(query.level - 1)]) {
    if (wanted == nullptr || wanted->contains(key)) page.causes.push_back(ToRow(key, sum));
  }
  SortByCost(&page.causes);
  const auto size = static_cast<int64_t>(page.causes.size());
  const int64_t begin = std::min(query.offset, size);
  const int64_t end = begin + std::min(query.limit, size - begin);
  page.causes = {page.causes.begin() + begin, page.causes.begin() + end};
  if (query.level != 1) return page;
  for (CauseRow& cause : page.causes) cause.children = Children(cause.cluster.key, query.child_limit);
  return page;
}

CauseRow ReportSummer::ToCause(const std::string& key, int level, int64_t child_limit) const {
  const TotalsByCause& sums = levels_[static_cast<size_t>(level - 1)];
  const auto found = sums.find(key);
  if (found == sums.end()) return {};
  CauseRow cause = ToRow(key, found->second);
  if (level == 1) cause.children = Children(key, child_limit);
  return cause;
}

void ReportSummer::AddTo(CauseTotals* sum, const ReportRow& report) {
  ContributionOf(report).AddTo(&sum->sums, 1);
  sum->AddNames(report.app, report.version, report.verdict, static_cast<double>(report.hang_ns));
}

CauseRow ReportSummer::ToRow(const std::string& key, const CauseTotals& sum) const {
  CauseRow cause;
  cause.cluster.key = key;
  cause.sums = sum.sums;
  sum.WriteNamesTo(&cause);
  Estimate(lost_per_report_(key), &cause);
  return cause;
}

std::vector<CauseRow> ReportSummer::Children(const std::string& key, int64_t limit) const {
  std::vector<CauseRow> children;
  for (const std::string& child : children_.at(key)) children.push_back(ToRow(child, levels_[1].at(child)));
  SortByCost(&children);
  if (static_cast<int64_t>(children.size()) > limit) children.resize(static_cast<size_t>(limit));
  return children;
}

CauseNames CostliestNames(const NameCosts& costs) { return Costliest(costs, nullptr); }

CauseNames CostliestVersions(const NameCosts& costs) {
  NameCost newest = nullptr;
  for (const auto& entry : costs) {
    if (newest == nullptr || policies::IsOlderVersion(newest->first, entry.first)) newest = &entry;
  }
  return Costliest(costs, newest);
}

}  // namespace lagwatch::collector
