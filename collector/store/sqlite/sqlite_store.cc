// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/sqlite_store.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "collector/store/sqlite/migration.h"
#include "collector/store/sqlite/record_remover.h"

namespace lagwatch::collector {
namespace {

// Of the most that a store may take, what its log may; and of a store without a limit.
constexpr uint64_t kLogPart = 16;
constexpr uint64_t kMostLogBytes = 64 << 20;
// Queries that arrive meanwhile wait for so long.
constexpr std::chrono::milliseconds kQuietTime{1000};

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path) {
  return Open(path, &fdatasync);
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, LogSync::SyncFile sync_file) {
  try {
    std::unique_ptr<SqliteStore> store(new SqliteStore(path, std::move(sync_file)));
    Connections::ScopedWriter writer(&store->connections_);
    if (Status status = store->Prepare(writer.get()); !status.ok()) return status;
    return store;
  } catch (const SqliteError& error) {
    return Status(error.is_damage() ? StatusCode::kInternal : StatusCode::kIo,
                  "cannot open the database " + path + ": " + error.what());
  }
}

Status SqliteStore::Prepare(Database* database) {
  RegisterSumsFunctions(database);
  if (Status status = Migrate(database); !status.ok())
    return Status(status.code(), "the database " + path_ + " " + status.message());
  // Commits do not wait for the disk: Sync does.
  database->Execute("PRAGMA synchronous = NORMAL");
  if (most_bytes_ != 0) BoundLog(database, MostLogBytes());
  page_size_ = PageSize(database);
  NotePages(database);
  return {};
}

SqliteStore::SqliteStore(const std::string& path, LogSync::SyncFile sync_file)
    : path_(path),
      connections_(path),
      log_sync_(path, &connections_, std::move(sync_file)),
      reports_(Connections::ScopedWriter(&connections_).get()) {}

template <typename Work>
auto SqliteStore::Write(Work work) -> Result<decltype(work(nullptr))> {
  const uint64_t lost = LostLogs();
  auto written = WriteUnsynced(std::move(work));
  if (!written.ok()) return written;
  if (Status synced = SyncSince(lost); !synced.ok()) return synced;
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

uint64_t SqliteStore::MostLogBytes() const { return std::min(most_bytes_ / kLogPart, kMostLogBytes); }

Status SqliteStore::SetMostBytes(uint64_t most_bytes) {
  most_bytes_ = most_bytes;
  return Guarded([&] {
    Connections::ScopedWriter writer(&connections_);
    BoundLog(writer.get(), MostLogBytes());
  });
}

Result<bool> SqliteStore::TruncateLog() {
  return Guarded([&] {
    Connections::ScopedWriter writer(&connections_);
    return collector::TruncateLog(writer.get());
  });
}

Status SqliteStore::Sync() { return log_sync_.Sync(); }

Status SqliteStore::SyncSince(uint64_t lost) {
  Status synced = Sync();
  return synced.ok() ? CheckNotLost(lost) : synced;
}

template <typename Work>
auto SqliteStore::WriteUnsynced(Work work) -> Result<decltype(work(nullptr))> {
  Connections::ScopedWriter writer(&connections_);
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
  const uint64_t lost = LostLogs();
  auto outcomes = CommitUnsynced(records);
  if (!outcomes.ok()) return outcomes;
  if (Status synced = SyncSince(lost); !synced.ok()) return synced;
  return outcomes;
}

Result<std::vector<CommitOutcome>> SqliteStore::CommitUnsynced(std::span<const NewRecord> records) {
  return WriteUnsynced([&](Database* database) {
    std::vector<CommitOutcome> outcomes;
    unknown_.Begin();
    for (const NewRecord& record : records) {
      outcomes.push_back(Insert(database, SenderId(database, record.sender), record));
    }
    return outcomes;
  });
}

CommitOutcome SqliteStore::Insert(Database* database, int64_t sender, const NewRecord& record) {
  if (const auto* report = std::get_if<NewReport>(&record))
    return reports_.Insert(*report, sender, record.capped_ns);
  if (const auto* end = std::get_if<report::HangEnd>(&record))
    return reports_.Insert(*end, sender, record.capped_ns);
  if (const auto* unknown = std::get_if<report::OwnedRecord>(&record))
    return unknown_.Insert(database, *unknown, sender);
  bool is_new = false;
  if (const auto* end = std::get_if<report::RunEnd>(&record)) {
    is_new = InsertRunEnd(database, *end, sender);
    if (is_new && end->report_id != base::Uuid{}) reports_.NoteHangOf(end->report_id);
  } else if (const auto* slice = std::get_if<report::FrameSlice>(&record)) {
    is_new = InsertFrames(database, *slice, sender);
  } else if (const auto* usage = std::get_if<NewUsage>(&record)) {
    is_new = InsertUsage(database, *usage, sender);
  } else if (const auto* losses = std::get_if<report::Losses>(&record)) {
    std::set<int64_t> causes;
    is_new = InsertLosses(database, *losses, sender, &causes);
    for (int64_t cause : causes) reports_.NoteLost(cause);
  } else {
    is_new = InsertTrace(database, std::get<NewTrace>(record), sender);
  }
  return is_new ? CommitOutcome::kStored : CommitOutcome::kDuplicate;
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
  Connections::ScopedWriter writer(&connections_);
  unused_.Restart();
  return removed.status();
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
    Connections::ScopedWriter writer(&connections_);
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

// The log has pages as they were before the removal, until it is cut.
Status SqliteStore::EraseRemoved() {
  const auto is_cut = Guarded([&] {
    const Connections::ScopedQuiet quiet(&connections_, kQuietTime);
    if (!quiet.is_quiet()) return false;
    Connections::ScopedWriter writer(&connections_);
    writer->SetBusyTimeout(kQuietTime);  // uploads wait meanwhile
    const bool is_done = collector::TruncateLog(writer.get());
    writer->SetBusyTimeout(Database::kBusyTimeout);
    return is_done;
  });
  if (!is_cut.ok()) return is_cut.status();
  if (*is_cut) return {};
  return {StatusCode::kUnavailable,
          "a query still reads the database's log, which has removed records; tried again in a moment"};
}

Status SqliteStore::PutNote(const ClusterNote& note) {
  return Write([&](Database* database) {
           collector::PutNote(database, note);
           return true;
         })
      .status();
}

Result<bool> SqliteStore::RemoveTracesBefore(int64_t day, int64_t limit) {
  return Write([&](Database* database) { return RemoveTraces(database, FirstIdOf(day), limit) == limit; });
}

}  // namespace lagwatch::collector
