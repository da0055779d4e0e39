// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/sums_worker.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "collector/store/clickhouse/read/hang_reader.h"
#include "collector/store/clickhouse/read/sum_row.h"
#include "collector/store/clickhouse/server/conditions.h"
#include "collector/store/clickhouse/server/shard_nodes.h"
#include "collector/store/clickhouse/server/unit_marks.h"

namespace lagwatch::collector {
namespace {

constexpr char kLeaseName[] = "sums";
constexpr int64_t kLeaseMs = 30'000;
// A lease that another collector holds is renewed within this; so far may clocks be apart.
constexpr int64_t kRenewMs = 10'000;
// Of the time, the part that a unit that keeps changing is summed up in.
constexpr int64_t kPausePerWork = 10;
// Lists that began with a day's hours have ended long before these are dropped.
constexpr int64_t kHoursStayMs = 10 * 60'000;
// A span is summed up again when its days have stayed the same for so long.
constexpr int64_t kDaysRestMs = 10 * 60'000;
constexpr int64_t kLeftTableMs = 2 * 3'600'000;
constexpr size_t kMostRows = 200'000;
constexpr size_t kMostInsertBytes = 32 << 20;
// Marks that no batch made have these in place of a collector.
constexpr int64_t kOfRetention = 1;
constexpr int64_t kOfStart = 2;
constexpr int64_t kOfFoundHangs = 3;

std::string NewTablePrefix() { return std::string(kDaySums.name) + "_new_"; }

}  // namespace

bool SumsWorker::Step() {
  if (!TryLease()) return false;
  // The marks come first: what they are about is there by now, so that nodes which have everything have it.
  const RowSource everywhere(connection_, schema_);
  UnitStates known = UnitStates::Read(everywhere);
  const Nodes nodes = FindNodes(known);
  const RowSource rows(connection_, schema_, nodes);
  if (!known.is_marked()) return MarkAll(rows, known);
  FindHangs(rows, known);
  const Places places = FindPlaces(nodes);
  known.states = UnitStates::Read(rows).states;
  DropHours(known, places);
  const auto unit = Next(known);
  if (!unit) {
    DropLeftTables(nodes);
    return false;
  }
  const auto place = places.find(unit->number());
  const int64_t turn = unit->is_span() ? unit->day() / SumsUnit::kDaysOfASpan : unit->day();
  const size_t to = place != places.end() ? place->second : nodes[static_cast<size_t>(turn) % nodes.size()];
  SumUp(*unit, known.MarksOf(*unit), nodes, to);
  return true;
}

// Of the holders of a lease, the one that began first continues; the others give theirs up. No lock: of two
// that begin at the same moment, both may do a unit once.
bool SumsWorker::TryLease() {
  const int64_t now_ms = wall_ms_();
  struct Lease {
    int64_t since_ms, holder, until_ms;
  };
  std::vector<Lease> leases;
  const auto read = [&] {
    leases.clear();
    connection_->Select("SELECT holder, since_ms, until_ms FROM " + schema_->All(kLeases) + " WHERE name = " +
                            SqlText(kLeaseName) + " ORDER BY holder, ver DESC LIMIT 1 BY holder",
                        "iii", [&](const Row& row) {
                          if (row.Int(2) > now_ms && row.Int(2) <= now_ms + 2 * kLeaseMs)
                            leases.push_back({row.Int(1), row.Int(0), row.Int(2)});
                        });
    std::ranges::sort(leases, {},
                      [](const Lease& lease) { return std::tuple(lease.since_ms, lease.holder); });
  };
  const auto write = [&](int64_t until_ms) {
    RowWriter row;
    row.Text(kLeaseName);
    row.Int(versions_->collector());
    row.Int(lease_since_ms_);
    row.Int(until_ms);
    row.Int(versions_->Newest());
    connection_->Insert(schema_->Target(kLeases), row.bytes());
  };
  read();
  const bool is_mine = !leases.empty() && leases[0].holder == versions_->collector();
  if (is_mine && leases[0].until_ms > now_ms + kLeaseMs - kRenewMs) return true;
  if (!leases.empty() && !is_mine) return false;
  if (!is_mine) lease_since_ms_ = now_ms;
  write(now_ms + kLeaseMs);
  if (is_mine) return true;
  read();
  if (!leases.empty() && leases[0].holder == versions_->collector()) return true;
  write(0);
  return false;
}

SumsWorker::Nodes SumsWorker::FindNodes(const UnitStates& known) {
  try {
    return ShardNodes(connection_, schema_).FindComplete(kTablesOfSums, known.has_removals);
  } catch (const ClickHouseError& error) {
    throw ClickHouseError(std::string("sums wait: ") + error.what());
  }
}

SumsWorker::Places SumsWorker::FindPlaces(const Nodes& nodes) {
  Places places;
  for (size_t node : nodes) {
    RowSource(connection_, schema_, {node})
        .Select("unit", kDaySums, " WHERE scope = " + std::to_string(static_cast<int64_t>(SumScope::kState)),
                "i", [&](const Row& row) { places.emplace(row.Int(0), node); });
  }
  return places;
}

// Of what an older collector stored: all hours that its reports may be summed up in.
bool SumsWorker::MarkAll(const RowSource& rows, const UnitStates& known) {
  std::set<int64_t> units;
  for (const char* id : {"id", "lag_id"}) {
    const std::string hour =
        "toInt64(intDiv(reinterpretAsUInt64(reverse(substring(" + std::string(id) + ", 1, 6))), 3600000))";
    rows.Select(hour + " AS hour", kReports, " GROUP BY hour", "i", [&](const Row& row) {
      units.insert(SumsUnit::OfHour(std::clamp<int64_t>(row.Int(0), 24, kLastDay * 24 + 23)).number());
    });
  }
  rows.Select("toInt64(day)", kUsage, " GROUP BY day", "i",
              [&](const Row& row) { units.insert(SumsUnit::OfUsage(row.Int(0)).number()); });
  std::erase_if(units, [&](int64_t unit) { return known.marks.contains(unit); });
  Insert(units, kOfStart, 1);
  Insert({SumsUnit::OfStart().number()}, kOfStart, 1);
  return true;
}

// Marks the units of hangs that were not known when ends of their reports came.
void SumsWorker::FindHangs(const RowSource& rows, const UnitStates& known) {
  for (const auto& [number, marks] : known.marks) {
    const SumsUnit unit(number);
    if (!unit.is_unknown_hangs()) continue;
    const SumsUnit found(number - 1);
    if (known.MarksOf(found) >= marks) continue;
    std::vector<base::Uuid> ended;
    rows.Select("report_id", kEnds, " WHERE day = " + DateOf(unit.day()) + " GROUP BY report_id", "u",
                [&](const Row& row) { ended.push_back(row.Id(0)); });
    if (ended.empty()) continue;
    std::set<int64_t> homes;
    const ExternalTable external = ExternalTable::OfIds(ended);
    rows.Select(
        "id, lag_id", kReports,
        " WHERE day = " + DateOf(unit.day()) + " AND id != lag_id AND id IN (SELECT id FROM ids)", "uu",
        [&](const Row& row) { homes.insert(SumsUnit::OfHour(HomeHourOf(row.Id(0), row.Id(1))).number()); },
        &external);
    Insert(homes, kOfFoundHangs + unit.day(), marks);
    Insert({found.number()}, kOfFoundHangs, marks);
  }
}

// The one that was summed up least recently, of those that changed and may be done again.
std::optional<SumsUnit> SumsWorker::Next(const UnitStates& known) {
  const int64_t now_ms = wall_ms_();
  const int64_t today = now_ms / kMsPerDay;
  std::optional<SumsUnit> next;
  int64_t next_made_ms = 0;
  std::set<int64_t> units;
  for (const auto& [number, marks] : known.marks) {
    const SumsUnit hour(number);
    if (hour.is_usage()) units.insert(number);
    if (!hour.is_hour()) continue;
    const SumsUnit day = SumsUnit::OfDay(hour.day());
    units.insert(hour.day() < today || known.StateOf(day) != nullptr ? day.number() : number);
  }
  for (int64_t number : units) {
    const SumsUnit unit(number);
    const SumState* state = known.StateOf(unit);
    if (state != nullptr && state->marks >= known.MarksOf(unit)) continue;
    const int64_t made_ms = state != nullptr ? state->made_ms : 0;
    const bool is_due = state == nullptr || is_in_hurry_ || made_ms > now_ms ||
                        now_ms - made_ms >= kPausePerWork * state->took_ms;
    if (!is_due) continue;
    // Newer ones are asked for more often.
    if (!next || made_ms <= next_made_ms)
      std::tie(next, next_made_ms) = std::pair(std::optional(unit), made_ms);
  }
  return next ? next : NextSpan(known, units);
}

// One whose days are over and up to date, `units` being all that reports are summed up in.
std::optional<SumsUnit> SumsWorker::NextSpan(const UnitStates& known, const std::set<int64_t>& units) {
  const int64_t now_ms = wall_ms_();
  struct Days {
    int64_t with_reports = 0, made_ms = 0;
    bool are_ready = true;
  };
  std::map<int64_t, Days> spans;  // by their units
  for (int64_t number : units) {
    const SumsUnit unit(number);
    if (unit.is_usage()) continue;
    Days& days = spans[SumsUnit::OfSpan(unit.day()).number()];
    const SumState* state = unit.is_day() ? known.StateOf(unit) : nullptr;
    days.are_ready &= state != nullptr && state->marks >= known.MarksOf(unit);
    if (!days.are_ready) continue;
    days.with_reports += state->reports > 0 ? 1 : 0;
    days.made_ms = std::max(days.made_ms, state->made_ms);
  }
  for (const auto& [number, days] : spans) {
    const SumsUnit span(number);
    const SumState* state = known.StateOf(span);
    if (!days.are_ready || span.end_day() > now_ms / kMsPerDay) continue;
    if (state == nullptr ? days.with_reports < 2 : state->marks >= known.MarksOf(span)) continue;
    const bool is_due = state == nullptr || is_in_hurry_ || days.made_ms > now_ms ||
                        now_ms - days.made_ms >= std::max(kDaysRestMs, kPausePerWork * state->took_ms);
    if (is_due) return span;
  }
  return std::nullopt;
}

void SumsWorker::SumUp(SumsUnit unit, int64_t marks, const Nodes& nodes, size_t to) {
  const int64_t begin_ms = wall_ms_();
  const std::string table =
      NewTablePrefix() + std::to_string(begin_ms) + "_" + std::to_string(versions_->collector());
  const std::string name = "`" + schema_->database() + "`." + table;
  connection_->ExecuteAt(to, schema_->MakeNewSums(table));
  try {
    SumRows sums;
    RowWriter rows;
    const auto move = [&](bool is_all) {
      sums.MoveTo(unit.number(), &rows);
      if (rows.empty() || (!is_all && rows.bytes().size() < kMostInsertBytes)) return;
      connection_->InsertAt(to, name, std::exchange(rows, {}).bytes());
    };
    if (unit.is_span()) {
      marks = AddDays(unit, nodes, &sums, [&] { move(false); });
    } else {
      AddUp(unit, nodes, &sums, [&] {
        if (sums.size() >= kMostRows) move(false);
      });
    }
    AppendState(unit.number(),
                {.reports = sums.reports(),
                 .marks = marks,
                 .made_ms = wall_ms_(),
                 .took_ms = std::max<int64_t>(wall_ms_() - begin_ms, 0),
                 .last_day = sums.last_day()},
                &rows);
    move(true);
    Replace(unit, name, to);
  } catch (const ClickHouseError&) {
    try {
      connection_->ExecuteAt(to, "DROP TABLE IF EXISTS " + name);
    } catch (const ClickHouseError&) {
      // DropLeftTables does.
    }
    throw;
  }
  connection_->ExecuteAt(to, "DROP TABLE IF EXISTS " + name);
}

// Calls `on_row` after each report.
void SumsWorker::AddUp(SumsUnit unit, const Nodes& nodes, SumRows* sums,
                       const std::function<void()>& on_row) {
  const RowSource rows(connection_, schema_, nodes);
  if (unit.is_usage()) {
    rows.Select("app, version, watched_ns", kUsage,
                " WHERE day = " + DateOf(unit.day()) + " ORDER BY id, ver DESC LIMIT 1 BY id", "ssi",
                [&](const Row& row) { sums->AddUsage(row.Text(0), row.Text(1), unit.day(), row.Int(2)); });
    return;
  }
  const HourRange hours{unit.first_hour(), unit.end_hour()};
  HangReader(rows, schema_).ForEachOf({&hours, 1}, [&](const ReportRow& report) {
    sums->Add(report);
    on_row();
  });
}

// Adds the sums of a span's days, part by part of the clusters, and returns the marks that they were made of.
int64_t SumsWorker::AddDays(SumsUnit span, const Nodes& nodes, SumRows* sums,
                            const std::function<void()>& on_part) {
  const RowSource rows(connection_, schema_, nodes);
  const auto read_states = [&] {
    auto states = UnitStates::Read(rows).states;
    std::erase_if(states, [&](const auto& state) {
      const SumsUnit unit(state.first);
      return !unit.is_day() || SumsUnit::OfSpan(unit.day()) != span;
    });
    return states;
  };
  const auto states = read_states();
  std::string days;
  int64_t marks = 0;
  for (const auto& [unit, state] : states) {
    days += (days.empty() ? "" : ", ") + std::to_string(unit);
    marks += state.marks;
    sums->CountReports(state.reports, state.last_day);
  }
  if (states.empty()) throw ClickHouseError("the days of a span are gone");
  const std::string where =
      " WHERE unit IN (" + days + ") AND scope != " + std::to_string(static_cast<int64_t>(SumScope::kState));
  int64_t count = 0;
  rows.Select("toInt64(count())", kDaySums, where, "i", [&](const Row& row) { count += row.Int(0); });
  const int64_t parts = count / static_cast<int64_t>(kMostRows) + 1;
  for (int64_t part = 0; part < parts; ++part) {
    rows.Select(kSumRowColumns, kDaySums,
                where + " AND cityHash64(cluster) % " + std::to_string(parts) + " = " + std::to_string(part),
                kSumRowKinds, [&](const Row& row) { sums->AddRow(row, span.day()); });
    on_part();
  }
  // A worker whose lease has ended may have swapped in other sums meanwhile.
  if (read_states() != states) throw ClickHouseError("the days of a span changed while they were added up");
  return marks;
}

void SumsWorker::Replace(SumsUnit unit, const std::string& from, size_t node) {
  connection_->ExecuteAt(node, "ALTER TABLE " + schema_->OfShard(kDaySums) + " REPLACE PARTITION " +
                                   std::to_string(unit.number()) + " FROM " + from);
}

// Of days that were summed up as a whole.
void SumsWorker::DropHours(const UnitStates& known, const Places& places) {
  const int64_t now_ms = wall_ms_();
  for (const auto& [number, state] : known.states) {
    const SumsUnit unit(number);
    if (!unit.is_hour()) continue;
    const SumState* day = known.StateOf(SumsUnit::OfDay(unit.day()));
    const auto place = places.find(number);
    if (day == nullptr || now_ms - day->made_ms < kHoursStayMs || place == places.end()) continue;
    connection_->ExecuteAt(place->second, "ALTER TABLE " + schema_->OfShard(kDaySums) + " DROP PARTITION " +
                                              std::to_string(number));
  }
}

// Of workers that were killed.
void SumsWorker::DropLeftTables(const Nodes& nodes) {
  for (size_t node : nodes) {
    std::vector<std::string> left;
    connection_->SelectAt(node,
                          "SELECT name FROM system.tables WHERE database = " + SqlText(schema_->database()) +
                              " AND position(name, " + SqlText(NewTablePrefix()) + ") = 1",
                          "s", [&](const Row& row) {
                            const std::string name = row.Text(0);
                            int64_t made_ms = 0;
                            std::from_chars(name.data() + NewTablePrefix().size(), name.data() + name.size(),
                                            made_ms);
                            if (wall_ms_() - made_ms > kLeftTableMs) left.push_back(name);
                          });
    for (const std::string& name : left)
      connection_->ExecuteAt(node, "DROP TABLE IF EXISTS `" + schema_->database() + "`." + name);
  }
}

void SumsWorker::MarkRemoved(int64_t day) {
  int64_t marked_day = 0;
  connection_->Select("SELECT max(number) FROM " + schema_->All(kMarks) +
                          " WHERE unit = " + std::to_string(SumsUnit::OfRetention().number()) +
                          " AND collector = " + std::to_string(kOfRetention),
                      "i", [&](const Row& row) { marked_day = row.Int(0); });
  if (marked_day >= day) return;
  const UnitStates known = UnitStates::Read(RowSource(connection_, schema_));
  std::set<int64_t> units;
  for (const auto& [number, state] : known.states) {
    const SumsUnit unit(number);
    if (unit.day() < day && state.reports > 0 && !unit.is_span())
      units.insert(unit.is_usage() ? number : SumsUnit::OfHour(unit.first_hour()).number());
  }
  Insert(units, kOfRetention, day);
  Insert({SumsUnit::OfRetention().number()}, kOfRetention, day);
}

void SumsWorker::Insert(const std::set<int64_t>& units, int64_t collector, int64_t number) {
  InsertMarks(connection_, *schema_, units, collector, number);
}

}  // namespace lagwatch::collector
