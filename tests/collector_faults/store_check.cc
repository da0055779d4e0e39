// SPDX-License-Identifier: Apache-2.0
#include "tests/collector_faults/store_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "collector/store/report_summer.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/sqlite/sqlite_store.h"

namespace lagwatch::faults {
namespace {

using namespace collector;

std::string Text(const Id& id) { return base::ToString(base::Uuid{id}); }

std::string Differs(const std::string& what, double stored, double right) {
  return what + ": " + std::to_string(stored) + " stored, " + std::to_string(right) + " is right\n";
}

bool IsNear(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

std::string CheckFile(const std::string& path) {
  Database database(path);
  Statement check = database.Use("PRAGMA integrity_check(1)");
  const std::string found = check.Step() ? check.Text(0) : "nothing";
  return found == "ok" ? "" : "the file is damaged: " + found + "\n";
}

std::string RemoveExpired(Store* store, int64_t last_day) {
  constexpr int64_t kAtOnce = 1'000;
  for (int64_t removed = last_day == 0 ? 0 : kAtOnce; removed >= kAtOnce;) {
    const auto result = store->RemoveBefore(last_day + 1, kAtOnce);
    if (!result.ok()) return "expired reports cannot be removed: " + result.status().message() + "\n";
    removed = *result;
  }
  for (int64_t repaired = 1; repaired > 0;) {
    const auto result = store->RepairSums(100);
    if (!result.ok()) return "sums cannot be repaired: " + result.status().message() + "\n";
    repaired = *result;
  }
  return "";
}

std::string CheckReports(const std::vector<ReportRow>& rows, const StoreCheck& check) {
  std::set<Id> stored;
  for (const ReportRow& row : rows) {
    const Id& id = row.id.bytes;
    if (!stored.insert(id).second) return "report " + Text(id) + " is there twice\n";
    if (!check.may_have.contains(id) && !check.must_have.contains(id))
      return "report " + Text(id) + " was never sent\n";
    if (DayOf(row.id) <= check.last_expired_day) return "report " + Text(id) + " is expired and there\n";
  }
  for (const Id& id : check.must_have) {
    if (!stored.contains(id)) return "report " + Text(id) + " is not stored\n";
  }
  return "";
}

std::string CheckDurations(const std::vector<ReportRow>& rows, const Expected& all) {
  for (const ReportRow& row : rows) {
    const auto known = all.durations_ns.find(row.hang_id.bytes);
    if (known == all.durations_ns.end() || row.duration_ns == known->second) continue;
    return Differs("duration of the hang " + Text(row.hang_id.bytes),
                   static_cast<double>(row.duration_ns.value_or(-1)), static_cast<double>(known->second));
  }
  return "";
}

// A sum per hang: its parts are its duration, and it is counted once.
std::string CheckParts(const std::vector<ReportRow>& rows) {
  struct Hang {
    int64_t parts_ns = 0;
    int64_t duration_ns = 0;
    int leads = 0;
  };
  std::map<Id, Hang> hangs;
  for (const ReportRow& row : rows) {
    Hang& hang = hangs[row.hang_id.bytes];
    hang.parts_ns += row.hang_ns;
    hang.duration_ns = std::max(hang.duration_ns, HangDurationNs(row));
    hang.leads += row.is_lead ? 1 : 0;
  }
  for (const auto& [id, hang] : hangs) {
    if (hang.parts_ns != hang.duration_ns)
      return Differs("parts of the hang " + Text(id), static_cast<double>(hang.parts_ns),
                     static_cast<double>(hang.duration_ns));
    if (hang.leads != 1) return Differs("times that the hang " + Text(id) + " is counted", hang.leads, 1);
  }
  return "";
}

std::string CheckSums(const std::string& what, const CauseSums& stored, const CauseSums& right,
                      bool has_users) {
  const std::pair<const char*, std::pair<double, double>> numbers[] = {
      {"reports", {static_cast<double>(stored.reports), static_cast<double>(right.reports)}},
      {"lags", {static_cast<double>(stored.hangs), static_cast<double>(right.hangs)}},
      {"hang_ns", {stored.hang_ns, right.hang_ns}},
      {"weighted_lags", {stored.weighted_hangs, right.weighted_hangs}},
      {"weighted_hang_ns", {stored.weighted_hang_ns, right.weighted_hang_ns}}};
  for (const auto& [name, pair] : numbers) {
    if (!IsNear(pair.first, pair.second)) return Differs(what + ": " + name, pair.first, pair.second);
  }
  // Nothing can be taken out of the row of all reports, which has no repair.
  if (!has_users) return "";
  if (stored.users.Count() != right.users.Count())
    return Differs(what + ": users", static_cast<double>(stored.users.Count()),
                   static_cast<double>(right.users.Count()));
  const auto p50 = static_cast<double>(right.durations.PercentileNs(50));
  if (std::abs(static_cast<double>(stored.durations.PercentileNs(50)) - p50) > 0.0115 * p50)
    return Differs(what + ": median", static_cast<double>(stored.durations.PercentileNs(50)), p50);
  return "";
}

std::string CheckLists(Store* store, const std::vector<ReportRow>& rows, const ReportFilter& filter,
                       const std::string& what) {
  auto matches = [&](const ReportRow& row) {
    return (filter.version.empty() || row.version == filter.version) &&
           (!filter.first_day || (DayOf(row.id) >= *filter.first_day && DayOf(row.id) <= *filter.last_day));
  };
  ReportSummer summer;
  for (const ReportRow& row : rows) {
    if (matches(row)) summer.Add(row);
  }
  for (int level : {1, 2}) {
    const CauseQuery query{.filter = filter, .level = level, .limit = 10'000};
    const auto page = store->Causes(query);
    if (!page.ok()) return what + ": " + page.status().message() + "\n";
    const CausePage right = summer.ToPage(query);
    if (page->causes.size() != right.causes.size())
      return Differs(what + ": causes", static_cast<double>(page->causes.size()),
                     static_cast<double>(right.causes.size()));
    if (auto all = CheckSums(what + ": all", page->all.sums, right.all.sums, false); !all.empty()) return all;
    for (const CauseRow& cause : page->causes) {
      const CauseRow expected = summer.ToCause(cause.cluster.key, level, 0);
      if (auto one = CheckSums(what + ": " + cause.cluster.key, cause.sums, expected.sums, true);
          !one.empty()) {
        return one;
      }
    }
  }
  return "";
}

std::string CheckAllLists(Store* store, const std::vector<ReportRow>& rows) {
  std::set<std::string> versions;
  std::set<int64_t> days;
  for (const ReportRow& row : rows) {
    versions.insert(row.version);
    days.insert(DayOf(row.id));
  }
  std::string problem = CheckLists(store, rows, {}, "sums");
  for (const std::string& version : versions) {
    if (problem.empty()) problem = CheckLists(store, rows, {.version = version}, "sums of " + version);
  }
  for (int64_t day : days) {
    if (problem.empty())
      problem = CheckLists(store, rows, {.first_day = day, .last_day = day}, "sums of a day");
  }
  return problem;
}

std::string CheckOthers(Store* store, const std::vector<ReportRow>& rows, const Expected& all) {
  const auto watched_ns = store->WatchedNs({});
  if (!watched_ns.ok() || !IsNear(*watched_ns, all.watched_ns))
    return Differs("watched time", watched_ns.ok() ? *watched_ns : -1, all.watched_ns);
  const auto losses = store->Losses({});
  if (!losses.ok()) return losses.status().message() + "\n";
  std::map<uint64_t, int64_t> lost;
  for (const LossRow& row : *losses) lost[static_cast<uint64_t>(row.cause)] += row.count;
  if (lost != all.lost) return "losses are not those that were sent\n";
  std::set<uint64_t> causes;
  for (const ReportRow& row : rows) causes.insert(static_cast<uint64_t>(row.cause));
  double estimated_lost = 0;
  for (const auto& [cause, count] : all.lost)
    estimated_lost += causes.contains(cause) ? static_cast<double>(count) : 0;
  const auto page = store->Causes({});
  if (!page.ok()) return page.status().message() + "\n";
  const CauseSums& sums = page->all.sums;
  const double stored = (page->all.estimated_hangs - sums.weighted_hangs) *
                        static_cast<double>(sums.reports) /
                        std::max<double>(1, static_cast<double>(sums.hangs));
  return std::abs(stored - estimated_lost) < 1e-3 ? ""
                                                  : Differs("lost reports of all", stored, estimated_lost);
}

}  // namespace

std::string CheckStore(const std::string& database, const StoreCheck& check) {
  if (std::string problem = CheckFile(database); !problem.empty()) return problem;
  auto store = SqliteStore::Open(database);
  if (!store.ok()) return store.status().message() + "\n";
  if (std::string problem = RemoveExpired(store->get(), check.last_expired_day); !problem.empty())
    return problem;
  std::vector<ReportRow> rows;
  const base::Status read = (*store)->ForEachReport({}, [&](const ReportRow& row) { rows.push_back(row); });
  if (!read.ok()) return read.message() + "\n";
  std::string problem = CheckReports(rows, check);
  if (problem.empty() && check.all != nullptr) problem = CheckDurations(rows, *check.all);
  if (problem.empty()) problem = CheckParts(rows);
  if (problem.empty()) problem = CheckAllLists(store->get(), rows);
  if (problem.empty() && check.all != nullptr) problem = CheckOthers(store->get(), rows, *check.all);
  return problem;
}

}  // namespace lagwatch::faults
