// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/read/hang_reader.h"

#include <algorithm>
#include <unordered_map>

#include "collector/store/clickhouse/server/columns.h"
#include "collector/store/clickhouse/server/conditions.h"
#include "policies/hang_account.h"
#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kReportsOfAJoin = 20'000;

struct HashOfId {
  size_t operator()(const base::Uuid& id) const { return std::hash<std::string_view>()(id.as_bytes()); }
};

std::vector<base::Uuid> IdsOf(std::span<const ReportRow> reports) {
  std::vector<base::Uuid> ids;
  for (const ReportRow& report : reports) ids.push_back(report.id);
  return ids;
}

// The time and the cause of the hang that these are all reports of.
void AccountHang(std::span<const policies::HangReport> hang, std::span<ReportRow> reports) {
  const policies::HangAccount account = policies::AccountHang(hang);
  const auto [level1_key, level2_key] =
      std::pair(reports[account.Lead()].level1_key, reports[account.Lead()].level2_key);
  for (size_t i = 0; i < reports.size(); ++i) {
    reports[i].duration_ns = account.duration_ns;
    if (!IsHang(reports[i].kind)) continue;
    reports[i].hang_ns = account.shares[i].hang_ns;
    reports[i].is_lead = account.shares[i].is_lead;
    reports[i].level1_key = level1_key;
    reports[i].level2_key = level2_key;
    if (WeightOf(account.sample_rate_ppm) < WeightOf(reports[i].sample_rate_ppm))
      reports[i].sample_rate_ppm = account.sample_rate_ppm;
    if (account.was_killed) reports[i].kind = policies::HangKindName(report::HangKind::kKilledInHang);
  }
}

}  // namespace

void HangReader::ForEach(const ReportFilter& filter, const Visit& visit) {
  const Conditions conditions(filter, *schema_);
  SelectHangs(conditions.OfHangs(), nullptr, [&](const ReportRow& report) {
    if (conditions.Match(report)) visit(report);
  });
}

void HangReader::ForEachOf(std::span<const HourRange> hours, const Visit& visit) {
  std::string condition;
  for (const HourRange& range : hours)
    condition +=
        (condition.empty() ? "(" : " OR ") + InHours("lag_id", range) + " OR " + InHours("id", range);
  if (condition.empty()) return;
  // Skips reports whose own ids are of these hours, but those of their hangs are not.
  const auto is_of_them = [&](const ReportRow& report) {
    const int64_t home = HomeHourOf(report.id, report.hang_id);
    return std::ranges::any_of(hours, [&](const HourRange& range) { return range.Has(home); });
  };
  const auto first = std::ranges::min_element(hours, {}, &HourRange::first)->first;
  const auto last = std::ranges::max_element(hours, {}, &HourRange::end)->end;
  SelectHangs(condition + ") AND " + DaysOfHangs(first / 24, last / 24), nullptr,
              [&](const ReportRow& report) {
                if (is_of_them(report)) visit(report);
              });
}

std::vector<ReportRow> HangReader::Newest(const ReportFilter& filter, int64_t limit,
                                          const std::optional<base::Uuid>& before) {
  const Conditions conditions(filter, *schema_);
  std::vector<ReportRow> found;
  std::optional<base::Uuid> end = before;
  auto [first_day, last_day] = Days();
  if (before) last_day = std::min(last_day, DayOf(*before));
  // The newest days mostly have enough: more and more of the older ones are read if they have not.
  for (int64_t days = 1; last_day >= first_day && static_cast<int64_t>(found.size()) < limit;) {
    const int64_t begin_day = std::max(first_day, last_day - days + 1);
    std::vector<base::Uuid> ids;
    source_.Select("id", kReports,
                   " WHERE " + conditions.OfReports(DaysAround(begin_day, last_day)) +
                       (end ? " AND id < " + SqlId(*end) : "") + " AND day >= " + DateOf(begin_day) +
                       " AND day <= " + DateOf(last_day) + " ORDER BY id DESC LIMIT 1 BY id LIMIT " +
                       std::to_string(limit),
                   "u", [&](const Row& row) { ids.push_back(row.Id(0)); });
    std::vector<ReportRow> reports = WithIds(ids);
    for (auto report = reports.rbegin(); report != reports.rend(); ++report) {
      if (conditions.Match(*report)) found.push_back(std::move(*report));
    }
    if (static_cast<int64_t>(ids.size()) == limit) {
      end = ids.back();
      last_day = std::min(last_day, DayOf(*end));
    } else {
      last_day = begin_day - 1;
      days *= 2;
    }
  }
  if (static_cast<int64_t>(found.size()) > limit) found.resize(static_cast<size_t>(limit));
  return found;
}

std::vector<ReportRow> HangReader::OfRun(const base::Uuid& session_id, int64_t first_wall_ms,
                                         int64_t last_wall_ms, int64_t limit) {
  const base::Uuid first = FirstIdAt(first_wall_ms);
  const base::Uuid end = FirstIdAt(last_wall_ms + 1);
  std::vector<base::Uuid> ids;
  source_.Select("id", kReports,
                 " WHERE session_id = " + SqlId(session_id) + " AND id >= " + SqlId(first) + " AND id < " +
                     SqlId(end) + " AND day >= " + DateOf(DayOf(first)) + " AND day <= " +
                     DateOf(DayOf(end)) + " ORDER BY id DESC LIMIT 1 BY id LIMIT " + std::to_string(limit),
                 "u", [&](const Row& row) { ids.push_back(row.Id(0)); });
  std::vector<ReportRow> reports = WithIds(ids);
  std::ranges::reverse(reports);
  return reports;
}

// The first and the last that have reports; the last is before the first when there are none.
std::pair<int64_t, int64_t> HangReader::Days() {
  std::pair<int64_t, int64_t> days(INT64_MAX, INT64_MIN);
  source_.Select("toInt64(count()), toInt64(min(day)), toInt64(max(day))", kReports, "", "iii",
                 [&](const Row& row) {
                   if (row.Int(0) == 0) return;
                   days.first = std::min(days.first, row.Int(1));
                   days.second = std::max(days.second, row.Int(2));
                 });
  return days;
}

std::vector<ReportRow> HangReader::WithIds(std::span<const base::Uuid> ids) {
  std::vector<ReportRow> reports;
  const std::vector<base::Uuid> hangs = HangsOf(ids);
  if (hangs.empty()) return reports;
  std::vector<base::Uuid> wanted(ids.begin(), ids.end());
  std::ranges::sort(wanted, {}, &base::Uuid::bytes);
  const ExternalTable external = ExternalTable::OfIds(hangs);
  SelectHangs("lag_id IN (SELECT id FROM ids) AND " + DaysAround(wanted), &external,
              [&](const ReportRow& report) {
                if (std::ranges::binary_search(wanted, report.id.bytes, {}, &base::Uuid::bytes))
                  reports.push_back(report);
              });
  std::ranges::sort(reports, {}, [](const ReportRow& report) { return report.id.bytes; });
  return reports;
}

std::vector<StoredReport> HangReader::StoredWithIds(std::span<const base::Uuid> ids) {
  std::vector<StoredReport> stored;
  for (ReportRow& report : WithIds(ids)) stored.push_back({std::move(report), {}});
  if (stored.empty()) return stored;
  const ExternalTable external = ExternalTable::OfIds(ids);
  auto next = stored.begin();
  source_.Select(
      "id, payload", kReports,
      " WHERE id IN (SELECT id FROM ids) AND " + DaysOf(ids) + " ORDER BY id, ver DESC LIMIT 1 BY id", "us",
      [&](const Row& row) {
        while (next != stored.end() && next->row.id.bytes < row.Id(0).bytes) ++next;
        if (next == stored.end() || next->row.id != row.Id(0)) return;
        next->payload = row.Text(1);
      },
      &external);
  return stored;
}

std::vector<ReportRow> HangReader::InOwnClusters(std::span<const base::Uuid> ids) {
  std::vector<ReportRow> reports;
  if (ids.empty()) return reports;
  const ExternalTable external = ExternalTable::OfIds(ids);
  source_.Select(
      ColumnNames(kReportColumns), kReports,
      " WHERE id IN (SELECT id FROM ids) AND " + DaysOf(ids) + " ORDER BY id, ver DESC LIMIT 1 BY id",
      ColumnKinds(kReportColumns),
      [&](const Row& row) { reports.push_back(ReadRecord<ReportRow>(row, kReportColumns)); }, &external);
  Place(external, DaysOf(ids), &reports);
  return reports;
}

std::vector<base::Uuid> HangReader::HangsOf(std::span<const base::Uuid> ids) {
  std::vector<base::Uuid> hangs;
  if (ids.empty()) return hangs;
  const ExternalTable external = ExternalTable::OfIds(ids);
  source_.Select(
      "lag_id", kReports, " WHERE id IN (SELECT id FROM ids) AND " + DaysOf(ids) + " GROUP BY lag_id", "u",
      [&](const Row& row) { hangs.push_back(row.Id(0)); }, &external);
  return hangs;
}

// `visit` gets reports of whole hangs: some thousands are joined at a time.
void HangReader::SelectHangs(const std::string& condition, const ExternalTable* external,
                             const Visit& visit) {
  std::vector<ReportRow> reports;
  const auto join = [&] {
    Join(&reports);
    for (const ReportRow& report : reports) visit(report);
    reports.clear();
  };
  const auto add = [&](const Row& row) {
    if (!reports.empty() && reports.back().id == row.Id(0)) return;
    if (reports.size() >= kReportsOfAJoin && reports.back().hang_id != row.Id(1)) join();
    reports.push_back(ReadRecord<ReportRow>(row, kReportColumns));
  };
  source_.Select(ColumnNames(kReportColumns), kReports,
                 " WHERE " + condition + " ORDER BY lag_id, id, ver DESC", ColumnKinds(kReportColumns), add,
                 external);
  join();
}

void HangReader::Join(std::vector<ReportRow>* reports) {
  if (reports->empty()) return;
  const std::vector<base::Uuid> ids = IdsOf(*reports);
  const ExternalTable external = ExternalTable::OfIds(ids);
  const std::string days = DaysOf(ids);
  Place(external, days, reports);
  Account(external, days, reports);
}

void HangReader::Place(const ExternalTable& ids, const std::string& days, std::vector<ReportRow>* reports) {
  std::unordered_map<base::Uuid, std::pair<std::string, std::string>, HashOfId> placed;
  source_.Select(
      "id, level1, level2", kPlacements,
      " WHERE id IN (SELECT id FROM ids) AND " + days + " ORDER BY id, ver DESC LIMIT 1 BY id", "uss",
      [&](const Row& row) {
        placed[row.Id(0)] = {row.Text(1), row.Text(2)};
      },
      &ids);
  if (placed.empty()) return;
  for (ReportRow& report : *reports) {
    const auto place = placed.find(report.id);
    if (place != placed.end()) std::tie(report.level1_key, report.level2_key) = place->second;
  }
}

void HangReader::Account(const ExternalTable& ids, const std::string& days, std::vector<ReportRow>* reports) {
  struct End {
    std::optional<int64_t> end_ns;
    std::optional<int64_t> killed_ns;
    bool is_blamed = false;
  };
  std::unordered_map<base::Uuid, End, HashOfId> ends;
  source_.Select(
      "report_id, of_run, duration_ns", kEnds,
      " WHERE report_id IN (SELECT id FROM ids) AND " + days +
          " ORDER BY report_id, of_run, ver DESC LIMIT 1 BY report_id, of_run",
      "uii",
      [&](const Row& row) {
        End& end = ends[row.Id(0)];
        if (row.Int(1) == 2) {
          end.is_blamed = true;
        } else {
          (row.Int(1) == 0 ? end.end_ns : end.killed_ns) = row.Int(2);
        }
      },
      &ids);
  std::vector<policies::HangReport> hang;
  for (size_t begin = 0; begin < reports->size(); begin += hang.size()) {
    hang.clear();
    for (size_t i = begin; i < reports->size() && (*reports)[i].hang_id == (*reports)[begin].hang_id; ++i) {
      const ReportRow& report = (*reports)[i];
      const auto end = ends.find(report.id);
      hang.push_back({.elapsed_ns = report.elapsed_ns,
                      .ordinal = report.ordinal,
                      .sample_rate_ppm = report.sample_rate_ppm});
      if (end == ends.end()) continue;
      hang.back().end_ns = end->second.end_ns;
      hang.back().killed_ns = end->second.killed_ns;
      hang.back().is_blamed = end->second.is_blamed;
    }
    AccountHang(hang, std::span(*reports).subspan(begin, hang.size()));
  }
}

}  // namespace lagwatch::collector
