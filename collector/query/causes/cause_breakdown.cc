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
  if (!IsCounted(report.kind)) return;
  const Contribution contribution = ContributionOf(report);
  const auto hang_ns = static_cast<double>(contribution.hang_ns);
  weighted_hang_ns_ += contribution.weight * hang_ns;
  for (size_t i = 0; i < kFilterTexts.size(); ++i) {
    const std::string& value = report.*kFilterTexts[i].column;
    Parts& parts = parts_[i];
    const bool has_room = parts.size() < kMostCounted || parts.contains(value);
    Part& part = parts[has_room ? value : kOthers];
    ++part.reports;
    part.hangs += contribution.hangs;
    part.hang_ns += hang_ns;
    part.weighted_hangs += contribution.weight * static_cast<double>(contribution.hangs);
    part.weighted_hang_ns += contribution.weight * hang_ns;
    part.users.Add(contribution.user);
  }
}

Json CauseBreakdown::ToJson() const {
  Json json = Json::object();
  for (size_t i = 0; i < kFilterTexts.size(); ++i) {
    if (kFilterTexts[i].column != &ReportRow::user)
      json[std::string(kFilterTexts[i].name)] = PartsJson(parts_[i]);
  }
  return json;
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
    const auto& [value, part] = *entry;
    values.push_back(
        {{"value", value},
         {"reports", part.reports},
         {"hangs", part.hangs},
         {"users", part.users.Count()},
         {"hang_ms", ToMs(part.hang_ns)},
         {"estimated", {{"hangs", part.weighted_hangs}, {"hang_ms", ToMs(part.weighted_hang_ns)}}},
         {"share", weighted_hang_ns_ > 0 ? part.weighted_hang_ns / weighted_hang_ns_ : 0}});
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
