// SPDX-License-Identifier: Apache-2.0
#include "collector/store/report_summer.h"

#include <algorithm>
#include <utility>

namespace lagwatch::collector {

Contribution ContributionOf(const ReportRow& report) {
  return {.hangs = report.is_lead ? 1 : 0,
          .hang_ns = report.hang_ns,
          .duration_ns = HangDurationNs(report),
          .weight = WeightOf(report.sample_rate_ppm),
          .seen_ms = report.start_wall_ms,
          .user = report.user};
}

void Estimate(double lost_per_report, CauseRow* cause) {
  const CauseSums& sums = cause->sums;
  cause->estimated_hangs = sums.weighted_hangs + lost_per_report * static_cast<double>(sums.hangs);
  cause->estimated_hang_ns = EstimatedHangNs(lost_per_report, sums);
}

double EstimatedHangNs(double lost_per_report, const CauseSums& sums) {
  return sums.weighted_hang_ns + lost_per_report * sums.hang_ns;
}

void SetNames(const NameCosts& apps, const NameCosts& versions, CauseRow* cause) {
  CauseNames of_apps = CostliestNames(apps);
  CauseNames of_versions = CostliestVersions(versions);
  cause->apps = std::move(of_apps.names);
  cause->more_apps = of_apps.more;
  cause->versions = std::move(of_versions.names);
  cause->more_versions = of_versions.more;
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
  const Sums& sums = levels_[static_cast<size_t>(level - 1)];
  const auto found = sums.find(key);
  if (found == sums.end()) return {};
  CauseRow cause = ToRow(key, found->second);
  if (level == 1) cause.children = Children(key, child_limit);
  return cause;
}

void ReportSummer::AddTo(Sum* sum, const ReportRow& report) {
  ContributionOf(report).AddTo(&sum->sums, 1);
  sum->apps[report.app] += static_cast<double>(report.hang_ns);
  sum->versions[report.version] += static_cast<double>(report.hang_ns);
  sum->verdicts[report.verdict] += static_cast<double>(report.hang_ns);
}

CauseRow ReportSummer::ToRow(const std::string& key, const Sum& sum) const {
  CauseRow cause;
  cause.cluster.key = key;
  cause.sums = sum.sums;
  SetNames(sum.apps, sum.versions, &cause);
  cause.verdicts.assign(sum.verdicts.begin(), sum.verdicts.end());
  std::ranges::stable_sort(cause.verdicts, std::greater(), &std::pair<std::string, double>::second);
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

}  // namespace lagwatch::collector
