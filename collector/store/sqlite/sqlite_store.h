// SPDX-License-Identifier: Apache-2.0
// The store in one SQLite database: no set-up, one collector. Thread safety: one writes, several read at the
// same time. Context: background.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "collector/store/guarded.h"
#include "collector/store/sqlite/database/connections.h"
#include "collector/store/sqlite/database/database_extent.h"
#include "collector/store/sqlite/database/log_sync.h"
#include "collector/store/sqlite/database/unused_rows.h"
#include "collector/store/sqlite/report_reader.h"
#include "collector/store/sqlite/report_writer.h"
#include "collector/store/sqlite/tables/record_tables.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

// The caller keeps it from one part to the next. A new one begins at the start.
struct CheckProgress {
  size_t part = 0;
  int64_t row = -1;  // the last one that was read, of the part's table
};

class SqliteStore final : public Store {
 public:
  // `path` is a file, created when it is not there, or ":memory:".
  // Errors: kIo when it cannot be opened; kInternal when it is damaged; kInvalid when a newer lagwatch wrote
  // it.
  static base::Result<std::unique_ptr<SqliteStore>> Open(const std::string& path);
  // With another way to sync a file, for tests.
  static base::Result<std::unique_ptr<SqliteStore>> Open(const std::string& path,
                                                         LogSync::SyncFile sync_file);

  // As of the last commit. Does not wait.
  StoreSize Size() const;

  // Ok, or kInternal with what was found damaged in the file, since it was opened or set aside.
  base::Status Damage() const;
  // Looks for damage in the next part of the database, without the writer; whether there are more. Its
  // findings are in Damage(), as are those of all other methods.
  base::Result<bool> CheckPart(CheckProgress* progress);
  // Moves the file to `directory`, which is created, and goes on with a new one. Errors: kUnavailable while
  // queries are under way; kIo. After an error it is to be called again, with the same directory.
  base::Status SetAside(const std::string& directory);
  // Sets the largest size of the database and its log: bounds the log, and makes Compact release every free
  // page while they are larger. The caller removes records.
  base::Status SetMostBytes(uint64_t most_bytes);
  // Writes the log to the database and cuts it to nothing. False while readers need it.
  base::Result<bool> TruncateLog();

  base::Result<std::vector<CommitOutcome>> Commit(std::span<const NewRecord> records) override;
  base::Result<std::vector<CommitOutcome>> CommitUnsynced(std::span<const NewRecord> records) override;
  base::Status Sync() override;
  uint64_t LostLogs() const override { return log_sync_.lost_logs(); }
  base::Result<std::vector<ReportRow>> Reports(const ReportFilter& filter, int64_t limit,
                                               const std::optional<base::Uuid>& before = {}) override {
    return Read(ReadReports, filter, limit, before);
  }
  base::Status ForEachReport(const ReportFilter& filter,
                             const std::function<void(const ReportRow&)>& visit) override {
    return Read(ReadEachReport, filter, visit);
  }
  base::Result<std::optional<StoredReport>> FindReport(const base::Uuid& id) override {
    return Read(ReadReport, id);
  }
  base::Result<std::vector<StoredReport>> FindReports(std::span<const base::Uuid> ids) override {
    return Read(ReadReportsWithIds, ids);
  }
  base::Result<std::vector<base::Uuid>> FindIds(const base::Uuid& first, const base::Uuid& last,
                                                int64_t limit) override {
    return Read(ReadIds, first, last, limit);
  }
  base::Result<CausePage> Causes(const CauseQuery& query) override { return Read(ReadCauses, query); }
  base::Result<std::optional<CauseRow>> FindCause(const std::string& key,
                                                  const ReportFilter& filter = {}) override {
    return Read(ReadCause, key, filter);
  }
  base::Result<std::vector<CauseVersion>> CauseVersions(const std::string& key,
                                                        const ReportFilter& filter = {}) override {
    return Read(ReadCauseVersions, key, filter);
  }
  base::Result<std::vector<CausePeriod>> CauseDays(const std::string& key) override {
    return Read(ReadCauseDays, key);
  }
  base::Result<DaysOfCauses> CostByDay(std::span<const std::string> keys, int64_t first_day,
                                       int64_t last_day) override {
    return Read(ReadCostByDay, keys, first_day, last_day);
  }
  base::Result<std::optional<Cluster>> FindCluster(const std::string& key) override {
    return Read(ReadCluster, key);
  }
  base::Result<std::vector<StoredReport>> ReportsAfter(const base::Uuid& after, int64_t limit) override {
    return Read(ReadReportsAfter, after, limit);
  }
  base::Result<std::vector<UnnamedBuild>> UnnamedBuilds(int64_t limit) override {
    return Read(ReadUnnamedBuilds, limit);
  }
  base::Result<std::vector<StoredReport>> ReportsWithUnnamed(const std::string& build_id,
                                                             int64_t limit) override {
    return Read(ReadReportsWithUnnamed, build_id, limit);
  }
  base::Status Recluster(std::span<const Reclustered> reports) override;
  base::Result<int64_t> RemoveBefore(int64_t day, int64_t limit) override;
  base::Result<bool> Remove(const Removal& removal, int64_t limit, RemovalProgress* progress) override;
  base::Result<bool> RemoveUnused(int64_t limit) override;
  base::Result<std::optional<int64_t>> NewestDay() override { return Read(ReadNewestDay); }
  base::Result<std::optional<int64_t>> OldestDay() override { return Read(ReadOldestDay); }
  base::Result<int64_t> RepairSums(int64_t limit) override;
  base::Result<bool> Compact() override;
  base::Status EraseRemoved() override;
  base::Result<std::vector<TraceRow>> TracesOf(std::span<const base::Uuid> report_ids) override {
    return Read(ReadTracesOf, report_ids);
  }
  base::Result<std::vector<TraceRow>> ListTraces(const ReportFilter& filter, int64_t limit,
                                                 const std::optional<base::Uuid>& before) override {
    return Read(ListTracesIn, filter, limit, before);
  }
  base::Result<std::optional<StoredTrace>> FindTrace(const base::Uuid& id) override {
    return Read(ReadTrace, id);
  }
  base::Result<std::vector<StoredTrace>> ProbeResults(const ReportFilter& filter, int64_t script_key,
                                                      int64_t limit) override {
    return Read(ReadProbeResults, filter, script_key, limit);
  }
  base::Result<bool> RemoveTracesBefore(int64_t day, int64_t limit) override;
  base::Status PutNote(const ClusterNote& note) override;
  base::Result<std::vector<ClusterNote>> Notes() override { return Read(ReadNotes); }
  base::Result<std::vector<FrameSummary>> Frames(const ReportFilter& filter, int64_t limit) override {
    return Read(ReadFrames, filter, limit);
  }
  base::Result<std::vector<ReportRow>> ReportsOfRun(const base::Uuid& session_id, int64_t first_wall_ms,
                                                    int64_t last_wall_ms, int64_t limit) override {
    return Read(ReadReportsOfRun, session_id, first_wall_ms, last_wall_ms, limit);
  }
  base::Result<std::vector<RunEndRow>> RunEndsOf(std::span<const base::Uuid> session_ids) override {
    return Read(ReadRunEnds, session_ids);
  }
  base::Result<std::vector<ExitCount>> CountExits(const ReportFilter& filter) override {
    return Read(collector::CountExits, filter);
  }
  base::Result<std::vector<LossRow>> Losses(const ReportFilter& filter) override {
    return Read(ReadLosses, filter);
  }
  base::Result<double> WatchedNs(const ReportFilter& filter) override { return Read(ReadWatchedNs, filter); }
  base::Result<std::vector<WatchedVersion>> WatchedVersions(const ReportFilter& filter) override {
    return Read(ReadWatchedVersions, filter);
  }
  base::Status ForEachUsage(const ReportFilter& filter,
                            const std::function<void(std::string_view payload)>& visit) override {
    return Read(ReadEachUsage, filter, visit);
  }
  base::Status ForEachUnknownRecord(
      const std::function<void(const report::OwnedRecord& record)>& visit) override {
    return Read(ReadUnknown, visit);
  }

 private:
  SqliteStore(const std::string& path, LogSync::SyncFile sync_file);

  template <typename Work>
  auto Guarded(Work work) const -> ResultOf<decltype(work())> {
    return GuardedFrom<SqliteError>("the database refuses: ", [&] {
      try {
        return work();
      } catch (const SqliteError& error) {
        if (error.is_damage()) NoteDamage(error.what());
        throw;
      }
    });
  }
  void NoteDamage(const std::string& found) const;
  // Makes a database that was just opened ready. Errors: kInvalid when a newer lagwatch wrote it.
  base::Status Prepare(Database* database);
  // Returns the result of `read`, which gets a database and the arguments.
  template <typename Reading, typename... Arguments>
  auto Read(Reading read, const Arguments&... arguments)
      -> ResultOf<decltype(read(static_cast<Database*>(nullptr), arguments...))> {
    return Guarded([&] {
      Connections::ScopedReader reader(&connections_);
      return read(reader.get(), arguments...);
    });
  }
  // Returns the result of `work`, a transaction, once it is on disk.
  template <typename Work>
  auto Write(Work work) -> base::Result<decltype(work(nullptr))>;
  // The same, without waiting for the disk.
  template <typename Work>
  auto WriteUnsynced(Work work) -> base::Result<decltype(work(nullptr))>;

  uint64_t MostLogBytes() const;
  // As Sync(), of a commit before which LostLogs() was `lost`.
  base::Status SyncSince(uint64_t lost);

  // With the writer held, as the next ones.
  void NotePages(Database* database);
  void RemoveOtherRecordsBefore(Database* database, int64_t day);
  // `sender` is the key that brought the record; 0 when not known.
  CommitOutcome Insert(Database* database, int64_t sender, const NewRecord& record);
  int64_t SenderId(Database* database, const std::string& name);

  const std::string path_;
  Connections connections_;
  LogSync log_sync_;
  // All used with the writer held.
  ReportWriter reports_;
  UnusedRows unused_;
  UnknownTable unknown_;
  std::map<std::string, int64_t> sender_ids_;  // rows of `senders` by key name, of the keys used so far
  mutable std::mutex damage_mutex_;
  mutable std::string damage_;  // guarded by damage_mutex_; empty: none
  // Of the last commit.
  std::atomic<int64_t> page_size_{0};
  std::atomic<int64_t> pages_{0};
  std::atomic<int64_t> free_pages_{0};
  std::atomic<uint64_t> most_bytes_{0};  // 0: no limit
};

}  // namespace lagwatch::collector
