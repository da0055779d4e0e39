// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/clickhouse_store.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/process/env.h"
#include "collector/store/clickhouse/row_remover.h"
#include "collector/store/clickhouse/server/columns.h"
#include "collector/store/clickhouse/server/conditions.h"

namespace lagwatch::collector {
namespace {

std::string Limit(int64_t limit) { return " LIMIT " + std::to_string(limit); }

}  // namespace

Result<std::unique_ptr<ClickHouseStore>> ClickHouseStore::Open(const std::string& url,
                                                               const std::string& spool_directory,
                                                               LogLine log) {
  const auto parsed = LAGWATCH_TRY(ClickHouseUrl::Parse(url));
  auto spool = LAGWATCH_TRY(BatchSpool::Open(&base::SystemEnv(), spool_directory));
  return Guarded([&] {
    std::unique_ptr<ClickHouseStore> store(new ClickHouseStore(parsed, std::move(spool), std::move(log)));
    store->tables_.Make();
    return store;
  });
}

ClickHouseStore::ClickHouseStore(const ClickHouseUrl& url, std::unique_ptr<BatchSpool> spool, LogLine log)
    : schema_(url),
      connection_(url),
      worker_(&connection_, &schema_, &versions_, [] { return base::SystemClock().WallMs(); }),
      remover_(&connection_, &schema_, versions_.collector()),
      committer_(&connection_, &schema_, &versions_, std::move(spool), std::move(log)) {}

Status ClickHouseStore::SumUpForTest() {
  return Guarded([&] { SumUp(); });
}

void ClickHouseStore::SumUp() {
  std::lock_guard lock(worker_mutex_);
  worker_.HurryForTest();
  while (worker_.Step()) continue;
  units_.Forget();
}

Result<std::vector<CommitOutcome>> ClickHouseStore::Commit(std::span<const NewRecord> records) {
  auto outcomes = committer_.Commit(records);
  units_.Forget();
  return outcomes;
}

Result<std::optional<StoredReport>> ClickHouseStore::FindReport(const base::Uuid& id) {
  return Guarded([&]() -> std::optional<StoredReport> {
    std::vector<StoredReport> found = hangs_.StoredWithIds(std::span(&id, 1));
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  });
}

Result<std::vector<base::Uuid>> ClickHouseStore::FindIds(const base::Uuid& first, const base::Uuid& last,
                                                         int64_t limit) {
  return Guarded([&] { return SelectIds(Between(first, last), limit); });
}

Result<std::vector<StoredReport>> ClickHouseStore::ReportsAfter(const base::Uuid& after, int64_t limit) {
  return Guarded([&] {
    return hangs_.StoredWithIds(
        SelectIds("id > " + SqlId(after) + " AND day >= " + DateOf(DayOf(after)), limit));
  });
}

std::vector<base::Uuid> ClickHouseStore::SelectIds(const std::string& condition, int64_t limit) {
  return connection_.All("SELECT id FROM " + schema_.All(kReports) + " WHERE " + condition +
                             " ORDER BY id LIMIT 1 BY id" + Limit(limit),
                         "u", [](const Row& row) { return row.Id(0); });
}

Result<std::vector<UnnamedBuild>> ClickHouseStore::UnnamedBuilds(int64_t limit) {
  return Guarded([&] {
    return connection_.All("SELECT build_id, toInt64(count()) AS reports FROM (SELECT build_id, id FROM " +
                               schema_.All(kUnnamed) +
                               " GROUP BY build_id, id HAVING max(is_named) = 0) GROUP BY build_id"
                               " ORDER BY reports DESC, build_id" +
                               Limit(limit),
                           "si", [](const Row& row) {
                             return UnnamedBuild{row.Text(0), row.Int(1)};
                           });
  });
}

Result<std::vector<StoredReport>> ClickHouseStore::ReportsWithUnnamed(const std::string& build_id,
                                                                      int64_t limit) {
  return Guarded([&] {
    return hangs_.StoredWithIds(
        connection_.All("SELECT id FROM " + schema_.All(kUnnamed) + " WHERE build_id = " + SqlText(build_id) +
                            " GROUP BY id HAVING max(is_named) = 0 ORDER BY id" + Limit(limit),
                        "u", [](const Row& row) { return row.Id(0); }));
  });
}

Status ClickHouseStore::Recluster(std::span<const Reclustered> reports) {
  return Guarded([&] {
    std::map<std::string, const Reclustered*> moved;  // by id; the last counts
    std::vector<base::Uuid> ids;
    for (const Reclustered& report : reports) {
      moved[std::string(report.id.as_bytes())] = &report;
      ids.push_back(report.id);
    }
    const Status sent = committer_.Move(hangs_.InOwnClusters(ids), moved);
    units_.Forget();
    if (!sent.ok()) throw ClickHouseError(sent.message());
  });
}

Status ClickHouseStore::PutNote(const ClusterNote& note) {
  return Guarded([&] {
    RecordRows rows(&schema_, &versions_);
    rows.Add(note);
    InsertNow(&rows);
  });
}

void ClickHouseStore::InsertNow(RecordRows* rows) {
  for (const Batch::Part& part : rows->Take()) connection_.Insert(part.target, part.rows);
}

Result<std::vector<ClusterNote>> ClickHouseStore::Notes() {
  return Guarded([&] {
    return connection_.All("SELECT " + ColumnNames(kNoteColumns) + " FROM " + schema_.All(kNotes) +
                               " ORDER BY key, ver DESC LIMIT 1 BY key",
                           ColumnKinds(kNoteColumns),
                           [](const Row& row) { return ReadRecord<ClusterNote>(row, kNoteColumns); });
  });
}

Result<SharedSettings> ClickHouseStore::ReadSettings(const std::string& prefix) {
  return Guarded([&] {
    SharedSettings settings;
    connection_.Select("SELECT name, content, toInt64(ver) FROM " + schema_.All(kSettings) +
                           " WHERE startsWith(name, " + SqlText(prefix) +
                           ") ORDER BY name, ver DESC LIMIT 1 BY name",
                       "ssi", [&](const Row& row) {
                         settings[row.Text(0)] = {row.Text(1), row.Int(2)};
                       });
    return settings;
  });
}

// The older content may have the name of a user who was deleted: its row is removed at once where a node
// answers, and later elsewhere.
Status ClickHouseStore::PutSetting(const std::string& name, const SharedSetting& setting) {
  return Guarded([&] {
    RecordRows rows(&schema_, &versions_);
    rows.AddSetting(name, setting);
    InsertNow(&rows);
    for (size_t node = 0; node < connection_.node_count(); ++node) {
      try {
        connection_.ExecuteAt(node, "OPTIMIZE TABLE " + schema_.OfShard(kSettings) + " FINAL");
      } catch (const ClickHouseError&) {
        continue;  // its merges come by themselves
      }
    }
  });
}

Result<int64_t> ClickHouseStore::RemoveBefore(int64_t day, int64_t) {
  return Guarded([&] {
    int64_t removed = 0;
    connection_.Select(
        "SELECT toInt64(uniqExact(id)) FROM " + schema_.All(kReports) + " WHERE day < " + DateOf(day), "i",
        [&](const Row& row) { removed = row.Int(0); });
    tables_.DropBefore(day);
    worker_.MarkRemoved(day);
    units_.Forget();
    return removed;
  });
}

// Each newest day is that of a partition: no row is read for it.
Result<std::optional<int64_t>> ClickHouseStore::NewestDay() {
  return Guarded([&] {
    std::optional<int64_t> newest;
    for (const Table* table : {&kReports, &kUsage, &kLosses, &kTraces}) {
      connection_.Select("SELECT toInt64(max(toUInt16(day))) FROM " + schema_.All(*table), "i",
                         [&](const Row& row) {
                           if (row.Int(0) > 0) newest = std::max(newest.value_or(0), row.Int(0));
                         });
    }
    return newest;
  });
}

Result<bool> ClickHouseStore::RemoveTracesBefore(int64_t day, int64_t) {
  return Guarded([&] {
    tables_.DropBefore(day, &kTraces);
    return false;
  });
}

// Records that were committed before are in ClickHouse when it is searched, or were set aside and are removed
// there.
Result<bool> ClickHouseStore::Remove(const Removal& removal, int64_t, RemovalProgress* progress) {
  return Guarded([&] {
    std::lock_guard lock(remover_mutex_);
    const auto held = committer_.HoldResent();
    if (progress->stage == 0) {
      if (const Status drained = committer_.Drain(); !drained.ok()) throw ClickHouseError(drained.message());
      progress->stage = 1;
    }
    const auto edit = [&](std::span<const base::Uuid> report_ids) {
      const Status edited =
          committer_.EditRefused([&](Batch* batch) { return TakeOut(removal, report_ids, batch); });
      if (!edited.ok()) throw ClickHouseError(edited.message());
    };
    const bool has_more = remover_.Step(removal, edit, progress);
    units_.Forget();
    return has_more;
  });
}

Result<int64_t> ClickHouseStore::RepairSums(int64_t limit) {
  return Guarded([&] {
    tables_.Make();
    std::lock_guard lock(worker_mutex_);
    const bool may_have_more = worker_.Step();
    units_.Forget();
    if (const std::string error = committer_.error(); !error.empty())
      throw ClickHouseError("reports wait on this machine: " + error);
    return may_have_more ? limit : 0;
  });
}

}  // namespace lagwatch::collector
