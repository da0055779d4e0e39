// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/read/summed_causes.h"

#include <algorithm>

#include "collector/store/clickhouse/server/conditions.h"

namespace lagwatch::collector {
namespace {

constexpr char kInTexts[] = "IN (SELECT text FROM texts)";

std::string Number(int64_t number) { return std::to_string(number); }

// The condition for rows of these clusters, with their parents among the texts: by the table's sorting key.
std::string OfTexts(bool has_all, bool has_level1, bool has_level2) {
  std::string sql;
  const auto add = [&](const std::string& condition) {
    sql += (sql.empty() ? " AND (" : " OR ") + condition;
  };
  if (has_all) add("level = 0");
  if (has_level1) add(std::string("(level = 1 AND parent = '' AND cluster ") + kInTexts + ")");
  if (has_level2) add(std::string("(level = 2 AND parent ") + kInTexts + " AND cluster " + kInTexts + ")");
  return sql + ")";
}

std::string Is(const Cluster& cluster) {
  return " AND level = " + Number(cluster.level) + " AND parent = " + SqlText(cluster.parent_key) +
         " AND cluster = " + SqlText(cluster.key);
}

bool IsOf(const SumRow& row, const Cluster& cluster) {
  return row.level == cluster.level && row.cluster == cluster.key;
}

std::string Equal(const char* column, const std::string& value) {
  return value.empty() ? "" : " AND " + std::string(column) + " = " + SqlText(value);
}

}  // namespace

std::unique_ptr<SummedCauses> SummedCauses::Open(Connection* connection, const Schema* schema,
                                                 HangReader* hangs, KnownUnits* units,
                                                 const ReportFilter& filter) {
  if (HasTextsOfReports(filter) || !filter.cluster_key.empty()) return nullptr;
  const auto plan = SumsPlan::Of(*units->Get(), filter);
  if (!plan) return nullptr;
  std::unique_ptr<SummedCauses> causes(new SummedCauses(connection, schema, filter));
  causes->units_ = Listed(plan->units);
  causes->days_ = Listed(plan->days);
  const Conditions conditions(causes->filter_, *schema);
  SumRows tail;
  hangs->ForEachOf(plan->others, [&](const ReportRow& report) {
    if (conditions.Match(report)) tail.Add(report);
  });
  tail.ForEach([&](const SumRow& row) { causes->tail_.push_back(row); });
  return causes;
}

bool SummedCauses::HasSegment() const {
  return !(filter_.app + filter_.version + filter_.kind + filter_.verdict + filter_.loop + filter_.os)
              .empty();
}

void SummedCauses::Select(const std::string& columns, SumScope scope, const std::string& rest,
                          const std::string& kinds, const std::function<void(const Row&)>& visit,
                          const ExternalTable* external) const {
  if (units_.empty()) return;
  const bool has_day = (", " + columns + ",").find(", day,") != std::string::npos;
  std::string sql = "SELECT " + columns + " FROM " + schema_->All(kDaySums) + " WHERE unit IN (" +
                    (has_day ? days_ : units_) + ") AND scope = " + Number(static_cast<int64_t>(scope));
  if (scope == SumScope::kSegment) {
    sql += Equal("app", filter_.app) + Equal("version", filter_.version) + Equal("kind", filter_.kind) +
           Equal("verdict", filter_.verdict) + Equal("loop", filter_.loop) + Equal("os", filter_.os);
  }
  if (scope != SumScope::kCause) {
    if (filter_.first_day) sql += " AND day >= " + Number(*filter_.first_day);
    if (filter_.last_day) sql += " AND day <= " + Number(*filter_.last_day);
  }
  connection_->Select(sql + rest, kinds, visit, external);
}

// In no order; with `parents`, of their children alone.
std::vector<SummedCauses::Cost> SummedCauses::Costs(int level, const std::vector<std::string>* parents,
                                                    const LostPerReport& lost) const {
  std::optional<ExternalTable> external;
  std::set<std::string> wanted;
  if (parents != nullptr) {
    external = ExternalTable::OfTexts(*parents);
    wanted.insert(parents->begin(), parents->end());
  }
  std::unordered_map<std::string, Cost> others;  // of the tail
  const auto add = [&](const std::string& parent, double weighted_ns, double ns, Cost* cost) {
    cost->estimated_hang_ns += weighted_ns + lost(cost->key) * ns;
    if (!parent.empty()) cost->parents.insert(parent);
  };
  for (const SumRow& row : tail_) {
    if (row.scope != SumScope::kAll || row.level != level) continue;
    if (parents != nullptr && !wanted.contains(row.parent)) continue;
    Cost& cost = others[row.cluster];
    cost.key = row.cluster;
    add(row.parent, row.sums.weighted_hang_ns, row.sums.hang_ns, &cost);
  }
  std::vector<Cost> costs;
  Select(
      std::string(level == 1 ? "''" : "any(parent)") + ", cluster, sum(weighted_hang_ns), sum(hang_ns)",
      HasSegment() ? SumScope::kSegment : SumScope::kAll,
      " AND level = " + Number(level) + (external ? std::string(" AND parent ") + kInTexts : "") +
          " GROUP BY cluster",
      "ssdd",
      [&](const Row& row) {
        Cost cost;
        cost.key = row.Text(1);
        if (!others.empty()) {
          if (auto other = others.extract(cost.key)) cost = std::move(other.mapped());
        }
        add(row.Text(0), row.Real(2), row.Real(3), &cost);
        costs.push_back(std::move(cost));
      },
      external ? &*external : nullptr);
  for (auto& [key, cost] : others) costs.push_back(std::move(cost));
  return costs;
}

// The costliest first, of the first `count`.
void SummedCauses::Sort(size_t count, std::vector<Cost>* costs) {
  const auto middle = costs->begin() + static_cast<ptrdiff_t>(std::min(count, costs->size()));
  std::ranges::partial_sort(*costs, middle, [](const Cost& a, const Cost& b) {
    return std::tie(b.estimated_hang_ns, a.key) < std::tie(a.estimated_hang_ns, b.key);
  });
}

CausePage SummedCauses::Causes(const CauseQuery& query, const std::set<std::string>* wanted,
                               const LostPerReport& lost) {
  std::vector<Cost> costs = Costs(query.level, nullptr, lost);
  if (wanted != nullptr) std::erase_if(costs, [&](const Cost& cost) { return !wanted->contains(cost.key); });
  const auto size = static_cast<int64_t>(costs.size());
  const int64_t begin = std::min(query.offset, size);
  Sort(static_cast<size_t>(begin + std::min(query.limit, size - begin)), &costs);
  costs = {costs.begin() + begin, costs.begin() + begin + std::min(query.limit, size - begin)};
  std::set<std::string> keys;
  std::vector<std::string> shown;
  for (const Cost& cost : costs) {
    shown.push_back(cost.key);
    keys.insert(cost.key);
    if (query.level == 2) keys.insert(cost.parents.begin(), cost.parents.end());
  }
  std::map<std::string, std::vector<std::string>> children;  // by parent, the costliest first
  if (query.level == 1 && !shown.empty()) {
    std::vector<Cost> all = Costs(2, &shown, lost);
    Sort(all.size(), &all);
    for (const Cost& child : all) {
      for (const std::string& parent : child.parents) {
        auto& of_parent = children[parent];
        if (static_cast<int64_t>(of_parent.size()) >= query.child_limit) continue;
        of_parent.push_back(child.key);
        keys.insert(child.key);
      }
    }
  }
  TotalsByCause sums =
      Describe({keys.begin(), keys.end()}, query.level == 1 && !children.empty() ? 3 : query.level);
  CausePage page{.causes = {}, .all = ToRow("", sums[""], lost)};
  for (const std::string& key : shown) {
    page.causes.push_back(ToRow(key, sums[key], lost));
    for (const std::string& child : children[key])
      page.causes.back().children.push_back(ToRow(child, sums[child], lost));
  }
  return page;
}

CauseRow SummedCauses::Cause(const Cluster& cluster, const LostPerReport& lost) {
  std::vector<std::string> keys = {cluster.key};
  if (cluster.level == 2) keys.push_back(cluster.parent_key);
  if (cluster.level == 1) {
    const std::vector<std::string> parents = {cluster.key};
    std::vector<Cost> all = Costs(2, &parents, lost);
    Sort(kAllChildren, &all);
    for (const Cost& child : all) {
      if (keys.size() <= kAllChildren) keys.push_back(child.key);
    }
  }
  TotalsByCause sums = Describe(keys, cluster.level == 1 ? 3 : 2);
  CauseRow cause = ToRow(cluster.key, sums[cluster.key], lost);
  if (cluster.level == 2) return cause;
  for (size_t i = 1; i < keys.size(); ++i) cause.children.push_back(ToRow(keys[i], sums[keys[i]], lost));
  return cause;
}

VersionSums SummedCauses::Versions(const Cluster& cluster) {
  VersionSums versions;
  Select(std::string("app, version, ") + kSumsColumns, SumScope::kSegment, Is(cluster),
         std::string("ss") + kSumsKinds,
         [&](const Row& row) { versions.Add(row.Text(0), row.Text(1), ReadSums(row, 2)); });
  for (const SumRow& row : tail_) {
    if (row.scope == SumScope::kSegment && IsOf(row, cluster)) versions.Add(row.app, row.version, row.sums);
  }
  return versions;
}

std::map<int64_t, CauseSums> SummedCauses::Days(const Cluster& cluster) {
  std::map<int64_t, CauseSums> days;
  Select(std::string("day, ") + kSumsColumns, SumScope::kAll, Is(cluster), std::string("i") + kSumsKinds,
         [&](const Row& row) { days[row.Int(0)].Add(ReadSums(row, 1)); });
  for (const SumRow& row : tail_) {
    if (row.scope == SumScope::kAll && IsOf(row, cluster)) days[row.day].Add(row.sums);
  }
  return days;
}

DaysOfCauses SummedCauses::CostByDay(std::span<const Cluster> clusters) {
  std::map<std::string, std::map<int64_t, double>> costs;
  std::vector<std::string> keys;
  bool has_level[3] = {};
  for (const Cluster& cluster : clusters) {
    costs[cluster.key];
    has_level[cluster.level] = true;
    keys.push_back(cluster.key);
    if (cluster.level == 2) keys.push_back(cluster.parent_key);
  }
  if (keys.empty()) return {};
  const ExternalTable external = ExternalTable::OfTexts(keys);
  const auto add = [&](const std::string& key, int64_t day, double hang_ns) {
    if (const auto wanted = costs.find(key); wanted != costs.end()) wanted->second[day] += hang_ns;
  };
  Select(
      "cluster, day, sum(weighted_hang_ns)", SumScope::kAll,
      OfTexts(false, has_level[1], has_level[2]) + " GROUP BY cluster, day", "sid",
      [&](const Row& row) { add(row.Text(0), row.Int(1), row.Real(2)); }, &external);
  for (const SumRow& row : tail_) {
    if (row.scope == SumScope::kAll && row.level != 0) add(row.cluster, row.day, row.sums.weighted_hang_ns);
  }
  DaysOfCauses days;
  for (const auto& [key, of_key] : costs) {
    for (const auto& [day, hang_ns] : of_key) days[key].push_back({day, hang_ns});
  }
  return days;
}

SummedCauses::ReportCounts SummedCauses::CountReports(const std::set<int64_t>& causes) {
  ReportCounts counts;
  std::string list;
  for (int64_t cause : causes) list += (list.empty() ? "" : ", ") + Number(cause);
  if (causes.empty()) return counts;
  Select("cause, cluster, sum(reports)", SumScope::kCause,
         " AND cause IN (" + list + ") GROUP BY cause, cluster", "isi", [&](const Row& row) {
           counts.of_causes[{row.Int(0), row.Text(1)}] += row.Int(2);
         });
  Select("cluster, sum(reports)", SumScope::kAll, " GROUP BY cluster", "si",
         [&](const Row& row) { counts.reports[row.Text(0)] += row.Int(1); });
  for (const SumRow& row : tail_) {
    if (row.scope == SumScope::kAll) counts.reports[row.cluster] += row.sums.reports;
    if (row.scope == SumScope::kCause && causes.contains(row.cause))
      counts.of_causes[{row.cause, row.cluster}] += row.sums.reports;
  }
  return counts;
}

// Of these clusters and of all together; `levels`: 1, 2, or 3 for both.
SummedCauses::TotalsByCause SummedCauses::Describe(const std::vector<std::string>& keys, int levels) const {
  TotalsByCause sums;
  for (const std::string& key : keys) sums[key];
  sums[""];
  const bool has_keys = !keys.empty();
  const ExternalTable external = ExternalTable::OfTexts(keys);
  const std::string where = OfTexts(true, has_keys && (levels & 1) != 0, has_keys && (levels & 2) != 0);
  const ExternalTable* keys_table = has_keys ? &external : nullptr;
  if (HasSegment()) {
    AddAllOfSegments(keys_table, where, &sums);
  } else {
    AddSums(keys_table, where, &sums);
    AddSegments(keys_table, where, &sums);
  }
  for (const SumRow& row : tail_) {
    const auto wanted = sums.find(row.cluster);
    if (wanted == sums.end()) continue;
    if (row.scope == SumScope::kAll) wanted->second.sums.Add(row.sums);
    if (row.scope != SumScope::kSegment) continue;
    wanted->second.AddNames(row.app, row.version, row.verdict, row.sums.hang_ns);
  }
  return sums;
}

void SummedCauses::AddSums(const ExternalTable* keys, const std::string& where, TotalsByCause* sums) const {
  Select(
      std::string("cluster, ") + kSumsColumns, SumScope::kAll, where, std::string("s") + kSumsKinds,
      [&](const Row& row) { (*sums)[row.Text(0)].sums.Add(ReadSums(row, 1)); }, keys);
}

// Both at once: the filter's segments are those that the sums are made of.
void SummedCauses::AddAllOfSegments(const ExternalTable* keys, const std::string& where,
                                    TotalsByCause* sums) const {
  Select(
      std::string("cluster, app, version, verdict, ") + kSumsColumns, SumScope::kSegment, where,
      std::string("ssss") + kSumsKinds,
      [&](const Row& row) {
        CauseTotals& sum = (*sums)[row.Text(0)];
        const CauseSums of_segment = ReadSums(row, 4);
        sum.sums.Add(of_segment);
        sum.AddNames(row.Text(1), row.Text(2), row.Text(3), of_segment.hang_ns);
      },
      keys);
}

void SummedCauses::AddSegments(const ExternalTable* keys, const std::string& where,
                               TotalsByCause* sums) const {
  Select(
      "cluster, app, version, verdict, sum(hang_ns)", SumScope::kSegment,
      where + " GROUP BY cluster, app, version, verdict", "ssssd",
      [&](const Row& row) {
        (*sums)[row.Text(0)].AddNames(row.Text(1), row.Text(2), row.Text(3), row.Real(4));
      },
      keys);
}

CauseRow SummedCauses::ToRow(const std::string& key, const CauseTotals& sum,
                             const LostPerReport& lost) const {
  CauseRow cause;
  cause.cluster.key = key;
  cause.sums = sum.sums;
  sum.WriteNamesTo(&cause);
  Estimate(lost(key), &cause);
  return cause;
}

}  // namespace lagwatch::collector
