// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/sqlite_store.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"
#include "collector/store/query_limit.h"
#include "collector/store/sqlite/cause_reader.h"
#include "collector/store/sqlite/database/database_extent.h"
#include "collector/store/sqlite/loss_table.h"
#include "collector/store/sqlite/migration.h"
#include "collector/store/sqlite/record_remover.h"
#include "collector/store/sqlite/report_reader.h"
#include "collector/store/sqlite/trace_table.h"
#include "collector/store/sqlite/usage_sums.h"

namespace lagwatch::collector {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

CommitOutcome OutcomeOf(bool is_new) { return is_new ? CommitOutcome::kStored : CommitOutcome::kDuplicate; }

// The beginning of the filter's days.
int64_t FirstMsOf(const ReportFilter& filter) {
  return std::min(filter.first_day.value_or(0), INT64_MAX / kMsPerDay) * kMsPerDay;
}

// Of the most that a store may take, what its log may; and of a store without a limit.
constexpr uint64_t kLogPart = 16;
constexpr uint64_t kMostLogBytes = 64 << 20;

// Runs `work`, which may throw what SQLite says.
template <typename Work>
auto Guarded(Work work) -> Result<decltype(work())> {
  const QueryLimit* limit = QueryLimit::OfThisThread();
  if (limit != nullptr && limit->IsOver()) return limit->ToStatus();
  try {
    return work();
  } catch (const SqliteError& error) {
    if (limit != nullptr && limit->IsOver()) return limit->ToStatus();
    return Status(StatusCode::kUnavailable, std::string("the database refuses: ") + error.what());
  }
}

template <typename Work>
Status GuardedVoid(Work work) {
  return Guarded([&] {
           work();
           return true;
         })
      .status();
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path) {
  return Open(path, &fdatasync);
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, LogSync::SyncFile sync_file) {
  try {
    std::unique_ptr<SqliteStore> store(new SqliteStore(path, std::move(sync_file)));
    Connections::Writer writer(&store->connections_);
    RegisterSumsFunctions(writer.get());
    if (Status status = Migrate(writer.get()); !status.ok()) {
      return Status(status.code(), "the database " + path + " " + status.message());
    }
    // Commits do not wait for the disk: Sync does.
    writer->Execute("PRAGMA synchronous = NORMAL");
    store->page_size_ = PageSize(writer.get());
    store->NotePages(writer.get());
    return store;
  } catch (const SqliteError& error) {
    return Status(StatusCode::kIo, "cannot open the database " + path + ": " + error.what());
  }
}

SqliteStore::SqliteStore(const std::string& path, LogSync::SyncFile sync_file)
    : path_(path),
      connections_(path),
      log_sync_(path, &connections_, std::move(sync_file)),
      reports_(Connections::Writer(&connections_).get()) {}

template <typename Work>
auto SqliteStore::Write(Work work) -> Result<decltype(work(nullptr))> {
  auto written = WriteUnsynced(std::move(work));
  if (!written.ok()) return written;
  if (Status synced = Sync(); !synced.ok()) return synced;
  return written;
}

void SqliteStore::NotePages(Database* database) {
  const PageCounts pages = CountPages(database);
  pages_ = pages.all;
  free_pages_ = pages.free;
}

StoreSize SqliteStore::Size() const {
  const int64_t free_pages = free_pages_;
  const int64_t used_pages = std::max<int64_t>(pages_ - free_pages, 0);
  return {.used_bytes = static_cast<uint64_t>(used_pages * page_size_),
          .free_bytes = static_cast<uint64_t>(free_pages * page_size_),
          .log_bytes = LogSize(path_)};
}

Status SqliteStore::SetMostBytes(uint64_t most_bytes) {
  most_bytes_ = most_bytes;
  return GuardedVoid([&] {
    Connections::Writer writer(&connections_);
    BoundLog(writer.get(), std::min(most_bytes / kLogPart, kMostLogBytes));
  });
}

Result<bool> SqliteStore::TruncateLog() {
  return Guarded([&] {
    Connections::Writer writer(&connections_);
    return collector::TruncateLog(writer.get());
  });
}

Status SqliteStore::Sync() { return log_sync_.Sync(); }

template <typename Work>
auto SqliteStore::WriteUnsynced(Work work) -> Result<decltype(work(nullptr))> {
  Connections::Writer writer(&connections_);
  auto written = Guarded([&] {
    Transaction transaction(writer.get());
    auto result = work(writer.get());
    reports_.Finish();
    NotePages(writer.get());
    transaction.Commit();
    return result;
  });
  if (!written.ok()) {
    reports_.Forget();
    sender_ids_.clear();
  }
  return written;
}

Result<std::vector<CommitOutcome>> SqliteStore::Commit(std::span<const NewRecord> records) {
  auto outcomes = CommitUnsynced(records);
  if (!outcomes.ok()) return outcomes;
  if (Status synced = Sync(); !synced.ok()) return synced;
  return outcomes;
}

Result<std::vector<CommitOutcome>> SqliteStore::CommitUnsynced(std::span<const NewRecord> records) {
  return WriteUnsynced([&](Database* database) {
    std::vector<CommitOutcome> outcomes;
    unknown_record_count_.reset();
    for (const NewRecord& record : records) {
      const int64_t sender = SenderId(database, record.sender);
      outcomes.push_back(
          std::visit([&](const auto& known) { return Insert(database, sender, known); }, record));
    }
    return outcomes;
  });
}

int64_t SqliteStore::SenderId(Database* database, const std::string& name) {
  if (name.empty()) return 0;
  const auto known = sender_ids_.find(name);
  if (known != sender_ids_.end()) return known->second;
  Statement added = database->Use(
      "INSERT INTO senders (name) VALUES (?) ON CONFLICT DO UPDATE SET name = name RETURNING id");
  added.Bind(name);
  added.Step();
  return sender_ids_.emplace(name, added.Int(0)).first->second;
}

Status SqliteStore::Recluster(std::span<const Reclustered> reports) {
  return Write([&](Database*) {
           for (const Reclustered& report : reports) reports_.Move(report);
           if (!reports.empty()) unused_.NoteRemoved();
           return true;
         })
      .status();
}

Result<int64_t> SqliteStore::RemoveBefore(int64_t day, int64_t limit) {
  return Write([&](Database* database) {
    const int64_t removed = reports_.RemoveBefore(FirstIdOf(day), limit);
    if (removed < limit) RemoveOtherRecordsBefore(database, day);
    if (removed > 0) unused_.NoteRemoved();
    return removed;
  });
}

Result<bool> SqliteStore::RemoveUnused(int64_t limit) {
  const auto removed = Write([&](Database* database) {
    const UnusedRows::Removed rows = unused_.Remove(database, limit);
    if (rows.names > 0) reports_.ForgetIds();
    return rows;
  });
  if (removed.ok()) return removed->has_more;
  Connections::Writer writer(&connections_);
  unused_.Restart();
  return removed.status();
}

Result<std::optional<int64_t>> SqliteStore::NewestDay() {
  return Guarded([&] {
    std::optional<int64_t> newest;
    Connections::Reader reader(&connections_);
    for (const char* sql : {"SELECT max(id) FROM reports", "SELECT max(id) FROM usage",
                            "SELECT max(id) FROM losses", "SELECT max(id) FROM traces"}) {
      Statement row = reader->Use(sql);
      if (!row.Step()) continue;
      const auto id = base::TryUuidFromBytes(row.Bytes(0));
      if (id) newest = std::max(newest.value_or(0), DayOf(*id));
    }
    return newest;
  });
}

Result<std::optional<int64_t>> SqliteStore::OldestDay() {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadOldestDay(reader.get());
  });
}

void SqliteStore::RemoveOtherRecordsBefore(Database* database, int64_t day) {
  const int64_t end_ms = day * kMsPerDay;
  const base::Uuid end_id = FirstIdOf(day);
  database->Use("DELETE FROM early_ends WHERE report_id < ?").Bind(end_id).Run();
  database->Use("DELETE FROM run_ends WHERE last_seen_wall_ms < ?").Bind(end_ms).Run();
  database->Use("DELETE FROM frame_slices WHERE begin_wall_ms < ?").Bind(end_ms).Run();
  database->Use("DELETE FROM usage WHERE end_wall_ms < ?").Bind(end_ms).Run();
  database->Use("DELETE FROM usage_sums WHERE day < ?").Bind(day).Run();
  database->Use("DELETE FROM unknown_records WHERE received_wall_ms < ?").Bind(end_ms).Run();
  std::set<int64_t> causes;
  RemoveLosses(database, end_id, &causes);
  for (int64_t cause : causes) reports_.NoteLost(cause);
  RemoveTraces(database, end_id, INT64_MAX);
}

// Finds the records to remove without the writer: that may scan a whole table.
Result<bool> SqliteStore::Remove(const Removal& removal, int64_t limit, RemovalProgress* progress) {
  const auto found = Guarded([&] {
    Connections::Reader reader(&connections_);
    return FindRecords(reader.get(), removal, *progress, limit);
  });
  if (!found.ok()) return found.status();
  RemovalProgress next = *progress;
  if (!found->empty()) {
    const auto removed = Write([&](Database* database) {
      RemoveRecords(database, &reports_, *found, &next);
      unused_.NoteRemoved();
      return true;
    });
    if (!removed.ok()) return removed.status();
  }
  const bool has_more = Advance(removal, *found, limit, &next);
  *progress = next;
  return has_more;
}

Result<int64_t> SqliteStore::RepairSums(int64_t limit) {
  return Write([&](Database*) { return reports_.Repair(limit); });
}

// A tenth is kept: new reports will have it. Moving a page is as much work as writing one.
Result<bool> SqliteStore::Compact() {
  constexpr int64_t kPagesAtOnce = 500;  // as below
  return Guarded([&] {
    Connections::Writer writer(&connections_);
    NotePages(writer.get());
    const StoreSize size = Size();
    const uint64_t most_bytes = most_bytes_;
    const bool is_too_large =
        most_bytes != 0 && size.used_bytes + size.free_bytes + size.log_bytes > most_bytes;
    const int64_t kept = is_too_large ? 0 : pages_ / 10;
    if (free_pages_ - kept < kPagesAtOnce) return false;
    writer->Use("PRAGMA incremental_vacuum(500)").Run();
    NotePages(writer.get());
    // A file from before this could be done gives nothing back.
    Statement row = writer->Use("PRAGMA auto_vacuum");
    return row.Step() && row.Int(0) != 0;
  });
}

Status SqliteStore::PutNote(const ClusterNote& note) {
  return Write([&](Database* database) {
           database
               ->Use(
                   R"sql(
                     INSERT OR REPLACE INTO cluster_notes (key, title, link, state, fixed_in,
                       merged_into, is_split, changed_wall_ms, changed_by)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                   )sql")
               .Bind(note.key, note.title, note.link, note.state, note.fixed_in, note.merged_into,
                     int64_t{note.is_split}, note.changed_wall_ms, note.changed_by)
               .Run();
           return true;
         })
      .status();
}

Result<std::vector<ClusterNote>> SqliteStore::Notes() {
  return Guarded([&] {
    std::vector<ClusterNote> notes;
    Connections::Reader reader(&connections_);
    Statement rows = reader->Use(
        R"sql(
          SELECT key, title, link, state, fixed_in, merged_into, is_split, changed_wall_ms, changed_by
          FROM cluster_notes
          ORDER BY key
        )sql");
    while (rows.Step()) {
      notes.push_back({rows.Text(0), rows.Text(1), rows.Text(2), rows.Text(3), rows.Text(4), rows.Text(5),
                       rows.Int(6) != 0, rows.Int(7), rows.Text(8)});
    }
    return notes;
  });
}

Result<std::vector<UnnamedBuild>> SqliteStore::UnnamedBuilds(int64_t limit) {
  return Guarded([&] {
    std::vector<UnnamedBuild> builds;
    Connections::Reader reader(&connections_);
    Statement rows = reader->Use(
        "SELECT build_id, count(*) FROM unnamed_builds GROUP BY build_id ORDER BY 2 DESC LIMIT ?");
    rows.Bind(limit);
    while (rows.Step()) builds.push_back({rows.Bytes(0), rows.Int(1)});
    return builds;
  });
}

Result<std::vector<StoredReport>> SqliteStore::ReportsWithUnnamed(const std::string& build_id,
                                                                  int64_t limit) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadReportsWithUnnamed(reader.get(), build_id, limit);
  });
}

Result<std::vector<StoredReport>> SqliteStore::ReportsAfter(const base::Uuid& after, int64_t limit) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadReportsAfter(reader.get(), after, limit);
  });
}

CommitOutcome SqliteStore::Insert(Database*, int64_t sender, const NewReport& added) {
  return reports_.Insert(added, sender);
}
CommitOutcome SqliteStore::Insert(Database*, int64_t, const report::HangEnd& end) {
  return reports_.Insert(end);
}

CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const report::RunEnd& end) {
  bool was_in_hang = end.report_id != base::Uuid{};
  database
      ->Use(
          R"sql(
            INSERT OR IGNORE INTO run_ends (session_id, reason, signal, report_id, lag_ns, loop,
              run_start_wall_ms, last_seen_wall_ms, scene, app, version, user, sender)
            VALUES (?, ?, ?, NULLIF(?, x''), ?, ?, ?, ?, ?, ?, ?, ?, ?)
          )sql")
      .Bind(end.session_id, policies::ExitReasonName(end.reason), int64_t{end.signal},
            Blob{was_in_hang ? end.report_id.as_bytes() : ""}, ToSigned(end.hang_ns), end.loop,
            ToSigned(end.run_start_wall_ms), ToSigned(end.last_seen_wall_ms), end.scene, end.app,
            end.app_version, end.user, sender)
      .Run();
  if (database->changes() == 0) return CommitOutcome::kDuplicate;
  if (was_in_hang) reports_.NoteKilled(end.report_id);
  return CommitOutcome::kStored;
}

CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const report::FrameSlice& slice) {
  const auto& levels = slice.frames.by_level;
  const auto& stages = slice.frames.by_stage_ns;
  static_assert(policies::kFrameLevels == 5 && policies::kFrameStages == 6);
  database
      ->Use(
          R"sql(
            INSERT OR IGNORE INTO frame_slices (id, session_id, app, version, user, loop, scene,
              begin_wall_ms, duration_ns, refresh_interval_ns, frames, dropped, best, normal, middle,
              high, frozen, other_ns, input_ns, animation_ns, layout_ns, draw_ns, submit_ns, sender)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          )sql")
      .Bind(slice.id, slice.session_id, slice.app, slice.app_version, slice.user, slice.loop, slice.scene,
            ToSigned(slice.begin_wall_ms), ToSigned(slice.duration_ns), ToSigned(slice.refresh_interval_ns),
            ToSigned(slice.frames.frames), ToSigned(slice.frames.dropped), ToSigned(levels[0]),
            ToSigned(levels[1]), ToSigned(levels[2]), ToSigned(levels[3]), ToSigned(levels[4]),
            ToSigned(stages[0]), ToSigned(stages[1]), ToSigned(stages[2]), ToSigned(stages[3]),
            ToSigned(stages[4]), ToSigned(stages[5]), sender)
      .Run();
  return OutcomeOf(database->changes() != 0);
}

CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const NewUsage& added) {
  const report::Usage& usage = added.usage;
  database
      ->Use(
          R"sql(
            INSERT OR IGNORE INTO usage (id, session_id, app, version, user, begin_wall_ms, end_wall_ms,
              payload, sender)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
          )sql")
      .Bind(usage.id, usage.session_id, usage.app, usage.app_version, usage.user,
            ToSigned(usage.begin_wall_ms), ToSigned(usage.end_wall_ms), Blob{added.payload}, sender)
      .Run();
  if (database->changes() == 0) return CommitOutcome::kDuplicate;
  AddToUsageSums(database, usage);
  return CommitOutcome::kStored;
}

CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const report::Losses& losses) {
  std::set<int64_t> causes;
  const bool is_new = InsertLosses(database, losses, sender, &causes);
  for (int64_t cause : causes) reports_.NoteLost(cause);
  return OutcomeOf(is_new);
}

CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const report::OwnedRecord& record) {
  if (HasUnknownRecord(database, record)) return CommitOutcome::kDuplicate;
  if (!unknown_record_count_) unknown_record_count_ = CountUnknownRecords(database);
  if (*unknown_record_count_ >= kMaxUnknownRecords) return CommitOutcome::kNoRoom;
  database->Use("INSERT INTO unknown_records (type, payload, received_wall_ms, sender) VALUES (?, ?, ?, ?)")
      .Bind(int64_t{Number(record.type)}, Blob{record.payload}, base::SystemClock().WallMs(), sender)
      .Run();
  ++*unknown_record_count_;
  return CommitOutcome::kStored;
}

int64_t SqliteStore::CountUnknownRecords(Database* database) {
  Statement count = database->Use("SELECT count(*) FROM unknown_records");
  count.Step();
  return count.Int(0);
}

bool SqliteStore::HasUnknownRecord(Database* database, const report::OwnedRecord& record) {
  Statement found = database->Use("SELECT 1 FROM unknown_records WHERE type = ? AND payload = ?");
  found.Bind(int64_t{Number(record.type)}, Blob{record.payload});
  return found.Step();
}

Status SqliteStore::ForEachUnknownRecord(
    const std::function<void(const report::OwnedRecord& record)>& visit) {
  return GuardedVoid([&] {
    Connections::Reader reader(&connections_);
    Statement rows = reader->Use("SELECT type, payload FROM unknown_records ORDER BY received_wall_ms");
    while (rows.Step()) visit({static_cast<report::RecordType>(rows.Int(0)), rows.Bytes(1)});
  });
}

CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const NewTrace& added) {
  return OutcomeOf(InsertTrace(database, added, sender));
}

Result<std::vector<TraceRow>> SqliteStore::TracesOf(std::span<const base::Uuid> report_ids) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadTracesOf(reader.get(), report_ids);
  });
}

Result<std::vector<TraceRow>> SqliteStore::ListTraces(const ReportFilter& filter, int64_t limit,
                                                      const std::optional<base::Uuid>& before) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ListTracesIn(reader.get(), filter, limit, before);
  });
}

Result<std::optional<StoredTrace>> SqliteStore::FindTrace(const base::Uuid& id) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadTrace(reader.get(), id);
  });
}

Result<bool> SqliteStore::RemoveTracesBefore(int64_t day, int64_t limit) {
  return Write([&](Database* database) { return RemoveTraces(database, FirstIdOf(day), limit) == limit; });
}

Result<std::vector<LossRow>> SqliteStore::Losses(const ReportFilter& filter) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadLosses(reader.get(), filter);
  });
}

Result<double> SqliteStore::WatchedNs(const ReportFilter& filter) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadWatchedNs(reader.get(), filter);
  });
}

Result<std::vector<WatchedVersion>> SqliteStore::WatchedVersions(const ReportFilter& filter) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadWatchedVersions(reader.get(), filter);
  });
}

Status SqliteStore::ForEachUsage(const ReportFilter& filter,
                                 const std::function<void(std::string_view payload)>& visit) {
  return GuardedVoid([&] {
    Connections::Reader reader(&connections_);
    Statement rows = reader->Use(
        R"sql(
          SELECT payload
          FROM usage
          WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2) AND (?3 = '' OR user = ?3)
            AND end_wall_ms >= ?4
        )sql");
    rows.Bind(filter.app, filter.version, filter.user, FirstMsOf(filter));
    while (rows.Step()) visit(rows.Bytes(0));
  });
}

Result<std::vector<RunEndRow>> SqliteStore::RunEndsOf(std::span<const base::Uuid> session_ids) {
  return Guarded([&] {
    std::vector<RunEndRow> ends;
    Connections::Reader reader(&connections_);
    for (const base::Uuid& session_id : session_ids) {
      Statement row = reader->Use(
          R"sql(
            SELECT reason, signal, coalesce(report_id, x''), lag_ns, loop, run_start_wall_ms,
              last_seen_wall_ms, scene, app, version, user
            FROM run_ends
            WHERE session_id = ?
          )sql");
      row.Bind(session_id);
      if (!row.Step()) continue;
      ends.push_back({.session_id = session_id,
                      .reason = row.Text(0),
                      .signal = row.Int(1),
                      .report_id = row.Id(2),
                      .hang_ns = row.Int(3),
                      .loop = row.Text(4),
                      .run_start_wall_ms = row.Int(5),
                      .last_seen_wall_ms = row.Int(6),
                      .scene = row.Text(7),
                      .app = row.Text(8),
                      .version = row.Text(9),
                      .user = row.Text(10)});
    }
    return ends;
  });
}

Result<std::vector<ExitCount>> SqliteStore::CountExits(const ReportFilter& filter) {
  return Guarded([&] {
    std::vector<ExitCount> counts;
    Connections::Reader reader(&connections_);
    Statement rows = reader->Use(
        R"sql(
          SELECT app, version, reason, count(*)
          FROM run_ends
          WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)
          GROUP BY app, version, reason
        )sql");
    rows.Bind(filter.app, filter.version);
    while (rows.Step()) counts.push_back({rows.Text(0), rows.Text(1), rows.Text(2), rows.Int(3)});
    return counts;
  });
}

Result<std::vector<FrameSummary>> SqliteStore::Frames(const ReportFilter& filter, int64_t limit) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    std::vector<FrameSummary> summaries;
    // total(): a float, which no client can make overflow.
    Statement rows = reader->Use(
        R"sql(
          SELECT app, version, loop, scene, count(*), count(DISTINCT NULLIF(user, '')),
            max(begin_wall_ms + duration_ns / 1000000),
            CAST(total(1.0 * refresh_interval_ns * frames) / max(total(frames), 1) AS INTEGER),
            CAST(total(frames) AS INTEGER), CAST(total(dropped) AS INTEGER),
            CAST(total(best) AS INTEGER), CAST(total(normal) AS INTEGER),
            CAST(total(middle) AS INTEGER), CAST(total(high) AS INTEGER),
            CAST(total(frozen) AS INTEGER), CAST(total(other_ns) AS INTEGER),
            CAST(total(input_ns) AS INTEGER), CAST(total(animation_ns) AS INTEGER),
            CAST(total(layout_ns) AS INTEGER), CAST(total(draw_ns) AS INTEGER),
            CAST(total(submit_ns) AS INTEGER)
          FROM frame_slices
          WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)
          GROUP BY app, version, loop, scene
          ORDER BY total(dropped) DESC, total(frames) DESC
          LIMIT ?3
        )sql");
    rows.Bind(filter.app, filter.version, limit);
    while (rows.Step()) {
      FrameSummary summary{.app = rows.Text(0),
                           .version = rows.Text(1),
                           .loop = rows.Text(2),
                           .scene = rows.Text(3),
                           .slices = rows.Int(4),
                           .users = rows.Int(5),
                           .last_seen_ms = rows.Int(6),
                           .refresh_interval_ns = rows.Int(7),
                           .frames = {}};
      auto sum = [&](int column) { return static_cast<uint64_t>(rows.Int(column)); };
      summary.frames.frames = sum(8);
      summary.frames.dropped = sum(9);
      for (size_t i = 0; i < policies::kFrameLevels; ++i)
        summary.frames.by_level[i] = sum(10 + static_cast<int>(i));
      for (size_t i = 0; i < policies::kFrameStages; ++i)
        summary.frames.by_stage_ns[i] = sum(15 + static_cast<int>(i));
      summaries.push_back(std::move(summary));
    }
    return summaries;
  });
}

Result<std::vector<ReportRow>> SqliteStore::Reports(const ReportFilter& filter, int64_t limit,
                                                    const std::optional<base::Uuid>& before) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadReports(reader.get(), filter, limit, before);
  });
}

Status SqliteStore::ForEachReport(const ReportFilter& filter,
                                  const std::function<void(const ReportRow&)>& visit) {
  return GuardedVoid([&] {
    Connections::Reader reader(&connections_);
    ReadEachReport(reader.get(), filter, visit);
  });
}

Result<std::optional<StoredReport>> SqliteStore::FindReport(const base::Uuid& id) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadReport(reader.get(), id);
  });
}

Result<std::vector<StoredReport>> SqliteStore::FindReports(std::span<const base::Uuid> ids) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadReportsWithIds(reader.get(), ids);
  });
}

Result<std::vector<base::Uuid>> SqliteStore::FindIds(const base::Uuid& first, const base::Uuid& last,
                                                     int64_t limit) {
  return Guarded([&] {
    std::vector<base::Uuid> ids;
    Connections::Reader reader(&connections_);
    Statement rows = reader->Use("SELECT id FROM reports WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?");
    rows.Bind(first, last, limit);
    while (rows.Step()) ids.push_back(rows.Id(0));
    return ids;
  });
}

Result<CausePage> SqliteStore::Causes(const CauseQuery& query) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadCauses(reader.get(), query);
  });
}

Result<std::optional<CauseRow>> SqliteStore::FindCause(const std::string& key, const ReportFilter& filter) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadCause(reader.get(), key, filter);
  });
}

Result<std::vector<CauseVersion>> SqliteStore::CauseVersions(const std::string& key,
                                                             const ReportFilter& filter) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadCauseVersions(reader.get(), key, filter);
  });
}

Result<std::vector<CausePeriod>> SqliteStore::CauseDays(const std::string& key) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadCauseDays(reader.get(), key);
  });
}

Result<DaysOfCauses> SqliteStore::CostByDay(std::span<const std::string> keys, int64_t first_day,
                                            int64_t last_day) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadCostByDay(reader.get(), keys, first_day, last_day);
  });
}

Result<std::optional<Cluster>> SqliteStore::FindCluster(const std::string& key) {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return ReadCluster(reader.get(), key);
  });
}

}  // namespace lagwatch::collector
