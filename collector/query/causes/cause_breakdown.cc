// SPDX-License-Identifier: Apache-2.0
#include "collector/query/causes/cause_breakdown.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "collector/store/report_summer.h"

namespace lagwatch::collector {
namespace {

constexpr char kOthers[] = "(others)";
constexpr size_t kMostValues = 50;

}  // namespace

void CauseBreakdown::Add(const ReportRow& report) {
  if (!IsCounted(report.kind) || HangDurationNs(report) < least_hang_ns_) return;
  const Contribution contribution = ContributionOf(report);
  AddTo(contribution, &all_);
  for (size_t i = 0; i < kFilterTexts.size(); ++i) {
    const bool is_user = kFilterTexts[i].column == &ReportRow::user;
    const std::string value = is_user ? std::string(contribution.user) : report.*kFilterTexts[i].column;
    Parts& parts = parts_[i];
    const bool has_room = parts.size() < kMostCounted || parts.contains(value);
    AddTo(contribution, &parts[has_room ? value : kOthers]);
  }
}

void CauseBreakdown::AddTo(const Contribution& contribution, Part* part) {
  const auto hang_ns = static_cast<double>(contribution.hang_ns);
  ++part->reports;
  part->hangs += contribution.hangs;
  part->hang_ns += hang_ns;
  part->weighted_hangs += contribution.weight * static_cast<double>(contribution.hangs);
  part->weighted_hang_ns += contribution.weight * hang_ns;
  part->users.Add(contribution.user);
}

double CauseBreakdown::ShareOf(const Part& part) const {
  return all_.weighted_hang_ns > 0 ? part.weighted_hang_ns / all_.weighted_hang_ns : 0;
}

Json CauseBreakdown::PartJson(const Part& part) {
  return {{"reports", part.reports},
          {"hangs", part.hangs},
          {"users", part.users.Count()},
          {"hang_ms", ToMs(part.hang_ns)},
          {"estimated", {{"hangs", part.weighted_hangs}, {"hang_ms", ToMs(part.weighted_hang_ns)}}}};
}

Json CauseBreakdown::ToJson() const {
  Json json = Json::object();
  json["all"] = PartJson(all_);
  json["all"]["largest_user_share"] = LargestUserShare();
  for (size_t i = 0; i < kFilterTexts.size(); ++i) {
    if (kFilterTexts[i].column != &ReportRow::user)
      json[std::string(kFilterTexts[i].name)] = PartsJson(parts_[i]);
  }
  return json;
}

double CauseBreakdown::LargestUserShare() const {
  double largest = 0;
  for (size_t i = 0; i < kFilterTexts.size(); ++i) {
    if (kFilterTexts[i].column != &ReportRow::user) continue;
    for (const auto& [user, part] : parts_[i])
      if (user != kOthers) largest = std::max(largest, ShareOf(part));
  }
  return largest;
}

Json CauseBreakdown::PartsJson(const Parts& parts) const {
  std::vector<const Parts::value_type*> costliest;
  for (const auto& entry : parts) costliest.push_back(&entry);
  std::ranges::stable_sort(costliest, std::greater(),
                           [](const auto* entry) { return entry->second.weighted_hang_ns; });
  const size_t more = costliest.size() - std::min(costliest.size(), kMostListed);
  costliest.resize(costliest.size() - more);
  Json values = Json::array();
  for (const auto* entry : costliest) {
    Json value = {{"value", entry->first}};
    value.update(PartJson(entry->second));
    value["share"] = ShareOf(entry->second);
    values.push_back(std::move(value));
  }
  return {{"values", std::move(values)}, {"more", more}};
}

Json ValuesJson(std::span<const ReportRow> reports) {
  Json json = Json::object();
  for (const FilterText& text : kFilterTexts) {
    std::map<std::string, int64_t> counts;
    for (const ReportRow& report : reports) ++counts[report.*text.column];
    counts.erase("");
    std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, int64_t>::second);
    if (sorted.size() > kMostValues) sorted.resize(kMostValues);
    Json values = Json::array();
    for (const auto& [value, count] : sorted) values.push_back(value);
    json[std::string(text.name)] = std::move(values);
  }
  return json;
}

}  // namespace lagwatch::collector
