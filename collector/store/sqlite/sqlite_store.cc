// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/sqlite_store.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "collector/store/sqlite/cause_reader.h"
#include "collector/store/sqlite/migration.h"
#include "collector/store/sqlite/record_remover.h"
#include "collector/store/sqlite/report_reader.h"
#include "collector/store/sqlite/tables/loss_table.h"
#include "collector/store/sqlite/tables/usage_table.h"

namespace lagwatch::collector {
namespace {

CommitOutcome OutcomeOf(bool is_new) { return is_new ? CommitOutcome::kStored : CommitOutcome::kDuplicate; }

// Of the most that a store may take, what its log may; and of a store without a limit.
constexpr uint64_t kLogPart = 16;
constexpr uint64_t kMostLogBytes = 64 << 20;

template <typename Work>
auto Guarded(Work work) {
  return GuardedFrom<SqliteError>("the database refuses: ", std::move(work));
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
auto SqliteStore::Read(Work work) -> ResultOf<decltype(work(nullptr))> {
  return Guarded([&] {
    Connections::Reader reader(&connections_);
    return work(reader.get());
  });
}

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
  return Guarded([&] {
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
    unknown_.Begin();
    for (const NewRecord& record : records) {
      const int64_t sender = SenderId(database, record.sender);
      outcomes.push_back(
          std::visit([&](const auto& known) { return Insert(database, sender, known); }, record));
    }
    return outcomes;
  });
}

CommitOutcome SqliteStore::Insert(Database*, int64_t sender, const NewReport& added) {
  return reports_.Insert(added, sender);
}
CommitOutcome SqliteStore::Insert(Database*, int64_t, const report::HangEnd& end) {
  return reports_.Insert(end);
}
CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const report::RunEnd& end) {
  const bool is_new = InsertRunEnd(database, end, sender);
  if (is_new && end.report_id != base::Uuid{}) reports_.NoteKilled(end.report_id);
  return OutcomeOf(is_new);
}
CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const report::FrameSlice& slice) {
  return OutcomeOf(InsertFrames(database, slice, sender));
}
CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const NewUsage& added) {
  return OutcomeOf(InsertUsage(database, added, sender));
}
CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const report::Losses& losses) {
  std::set<int64_t> causes;
  const bool is_new = InsertLosses(database, losses, sender, &causes);
  for (int64_t cause : causes) reports_.NoteLost(cause);
  return OutcomeOf(is_new);
}
CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const NewTrace& added) {
  return OutcomeOf(InsertTrace(database, added, sender));
}
CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const report::OwnedRecord& record) {
  return unknown_.Insert(database, record, sender);
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
  return Read([&](Database* database) { return ReadNewestDay(database); });
}

Result<std::optional<int64_t>> SqliteStore::OldestDay() {
  return Read([&](Database* database) { return ReadOldestDay(database); });
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
  const auto found =
      Read([&](Database* database) { return FindRecords(database, removal, *progress, limit); });
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
           collector::PutNote(database, note);
           return true;
         })
      .status();
}

Result<std::vector<ClusterNote>> SqliteStore::Notes() {
  return Read([&](Database* database) { return ReadNotes(database); });
}

Result<std::vector<UnnamedBuild>> SqliteStore::UnnamedBuilds(int64_t limit) {
  return Read([&](Database* database) { return ReadUnnamedBuilds(database, limit); });
}

Result<std::vector<StoredReport>> SqliteStore::ReportsWithUnnamed(const std::string& build_id,
                                                                  int64_t limit) {
  return Read([&](Database* database) { return ReadReportsWithUnnamed(database, build_id, limit); });
}

Result<std::vector<StoredReport>> SqliteStore::ReportsAfter(const base::Uuid& after, int64_t limit) {
  return Read([&](Database* database) { return ReadReportsAfter(database, after, limit); });
}

Status SqliteStore::ForEachUnknownRecord(
    const std::function<void(const report::OwnedRecord& record)>& visit) {
  return Read([&](Database* database) { ReadUnknown(database, visit); });
}

Result<std::vector<TraceRow>> SqliteStore::TracesOf(std::span<const base::Uuid> report_ids) {
  return Read([&](Database* database) { return ReadTracesOf(database, report_ids); });
}

Result<std::vector<TraceRow>> SqliteStore::ListTraces(const ReportFilter& filter, int64_t limit,
                                                      const std::optional<base::Uuid>& before) {
  return Read([&](Database* database) { return ListTracesIn(database, filter, limit, before); });
}

Result<std::optional<StoredTrace>> SqliteStore::FindTrace(const base::Uuid& id) {
  return Read([&](Database* database) { return ReadTrace(database, id); });
}

Result<bool> SqliteStore::RemoveTracesBefore(int64_t day, int64_t limit) {
  return Write([&](Database* database) { return RemoveTraces(database, FirstIdOf(day), limit) == limit; });
}

Result<std::vector<LossRow>> SqliteStore::Losses(const ReportFilter& filter) {
  return Read([&](Database* database) { return ReadLosses(database, filter); });
}

Result<double> SqliteStore::WatchedNs(const ReportFilter& filter) {
  return Read([&](Database* database) { return ReadWatchedNs(database, filter); });
}

Result<std::vector<WatchedVersion>> SqliteStore::WatchedVersions(const ReportFilter& filter) {
  return Read([&](Database* database) { return ReadWatchedVersions(database, filter); });
}

Status SqliteStore::ForEachUsage(const ReportFilter& filter,
                                 const std::function<void(std::string_view payload)>& visit) {
  return Read([&](Database* database) { ReadEachUsage(database, filter, visit); });
}

Result<std::vector<ReportRow>> SqliteStore::ReportsOfRun(const base::Uuid& session_id, int64_t first_wall_ms,
                                                         int64_t last_wall_ms, int64_t limit) {
  return Read([&](Database* database) {
    return ReadReportsOfRun(database, session_id, first_wall_ms, last_wall_ms, limit);
  });
}

Result<std::vector<RunEndRow>> SqliteStore::RunEndsOf(std::span<const base::Uuid> session_ids) {
  return Read([&](Database* database) { return ReadRunEnds(database, session_ids); });
}

Result<std::vector<ExitCount>> SqliteStore::CountExits(const ReportFilter& filter) {
  return Read([&](Database* database) { return collector::CountExits(database, filter); });
}

Result<std::vector<FrameSummary>> SqliteStore::Frames(const ReportFilter& filter, int64_t limit) {
  return Read([&](Database* database) { return ReadFrames(database, filter, limit); });
}

Result<std::vector<ReportRow>> SqliteStore::Reports(const ReportFilter& filter, int64_t limit,
                                                    const std::optional<base::Uuid>& before) {
  return Read([&](Database* database) { return ReadReports(database, filter, limit, before); });
}

Status SqliteStore::ForEachReport(const ReportFilter& filter,
                                  const std::function<void(const ReportRow&)>& visit) {
  return Read([&](Database* database) { ReadEachReport(database, filter, visit); });
}

Result<std::optional<StoredReport>> SqliteStore::FindReport(const base::Uuid& id) {
  return Read([&](Database* database) { return ReadReport(database, id); });
}

Result<std::vector<StoredReport>> SqliteStore::FindReports(std::span<const base::Uuid> ids) {
  return Read([&](Database* database) { return ReadReportsWithIds(database, ids); });
}

Result<std::vector<base::Uuid>> SqliteStore::FindIds(const base::Uuid& first, const base::Uuid& last,
                                                     int64_t limit) {
  return Read([&](Database* database) { return ReadIds(database, first, last, limit); });
}

Result<CausePage> SqliteStore::Causes(const CauseQuery& query) {
  return Read([&](Database* database) { return ReadCauses(database, query); });
}

Result<std::optional<CauseRow>> SqliteStore::FindCause(const std::string& key, const ReportFilter& filter) {
  return Read([&](Database* database) { return ReadCause(database, key, filter); });
}

Result<std::vector<CauseVersion>> SqliteStore::CauseVersions(const std::string& key,
                                                             const ReportFilter& filter) {
  return Read([&](Database* database) { return ReadCauseVersions(database, key, filter); });
}

Result<std::vector<CausePeriod>> SqliteStore::CauseDays(const std::string& key) {
  return Read([&](Database* database) { return ReadCauseDays(database, key); });
}

Result<DaysOfCauses> SqliteStore::CostByDay(std::span<const std::string> keys, int64_t first_day,
                                            int64_t last_day) {
  return Read([&](Database* database) { return ReadCostByDay(database, keys, first_day, last_day); });
}

Result<std::optional<Cluster>> SqliteStore::FindCluster(const std::string& key) {
  return Read([&](Database* database) { return ReadCluster(database, key); });
}

}  // namespace lagwatch::collector
