// SPDX-License-Identifier: Apache-2.0
// The store in one SQLite database: no set-up, one collector. Thread safety: one writes, several read at the
// same time. Context: background.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "collector/store/guarded.h"
#include "collector/store/sqlite/database/connections.h"
#include "collector/store/sqlite/database/database_extent.h"
#include "collector/store/sqlite/database/log_sync.h"
#include "collector/store/sqlite/database/unused_rows.h"
#include "collector/store/sqlite/report_writer.h"
#include "collector/store/sqlite/tables/record_tables.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

class SqliteStore final : public Store {
 public:
  // `path` is a file, created when it is not there, or ":memory:".
  // Errors: kIo when it cannot be opened; kInvalid when a newer lagwatch wrote it.
  static base::Result<std::unique_ptr<SqliteStore>> Open(const std::string& path);
  // With another way to sync a file, for tests.
  static base::Result<std::unique_ptr<SqliteStore>> Open(const std::string& path,
                                                         LogSync::SyncFile sync_file);

  // As of the last commit. Does not wait.
  StoreSize Size() const;
  // Sets the largest size of the database and its log: bounds the log, and makes Compact release every free
  // page while they are larger. The caller removes records.
  base::Status SetMostBytes(uint64_t most_bytes);
  // Writes the log to the database and cuts it to nothing. False while readers need it.
  base::Result<bool> TruncateLog();

  base::Result<std::vector<CommitOutcome>> Commit(std::span<const NewRecord> records) override;
  base::Result<std::vector<CommitOutcome>> CommitUnsynced(std::span<const NewRecord> records) override;
  base::Status Sync() override;
  base::Result<std::vector<ReportRow>> Reports(const ReportFilter& filter, int64_t limit,
                                               const std::optional<base::Uuid>& before = {}) override;
  base::Status ForEachReport(const ReportFilter& filter,
                             const std::function<void(const ReportRow&)>& visit) override;
  base::Result<std::optional<StoredReport>> FindReport(const base::Uuid& id) override;
  base::Result<std::vector<StoredReport>> FindReports(std::span<const base::Uuid> ids) override;
  base::Result<std::vector<base::Uuid>> FindIds(const base::Uuid& first, const base::Uuid& last,
                                                int64_t limit) override;
  base::Result<CausePage> Causes(const CauseQuery& query) override;
  base::Result<std::optional<CauseRow>> FindCause(const std::string& key,
                                                  const ReportFilter& filter = {}) override;
  base::Result<std::vector<CauseVersion>> CauseVersions(const std::string& key,
                                                        const ReportFilter& filter = {}) override;
  base::Result<std::vector<CausePeriod>> CauseDays(const std::string& key) override;
  base::Result<DaysOfCauses> CostByDay(std::span<const std::string> keys, int64_t first_day,
                                       int64_t last_day) override;
  base::Result<std::optional<Cluster>> FindCluster(const std::string& key) override;
  base::Result<std::vector<StoredReport>> ReportsAfter(const base::Uuid& after, int64_t limit) override;
  base::Result<std::vector<UnnamedBuild>> UnnamedBuilds(int64_t limit) override;
  base::Result<std::vector<StoredReport>> ReportsWithUnnamed(const std::string& build_id,
                                                             int64_t limit) override;
  base::Status Recluster(std::span<const Reclustered> reports) override;
  base::Result<int64_t> RemoveBefore(int64_t day, int64_t limit) override;
  base::Result<bool> Remove(const Removal& removal, int64_t limit, RemovalProgress* progress) override;
  base::Result<bool> RemoveUnused(int64_t limit) override;
  base::Result<std::optional<int64_t>> NewestDay() override;
  base::Result<std::optional<int64_t>> OldestDay() override;
  base::Result<int64_t> RepairSums(int64_t limit) override;
  base::Result<bool> Compact() override;
  base::Result<std::vector<TraceRow>> TracesOf(std::span<const base::Uuid> report_ids) override;
  base::Result<std::vector<TraceRow>> ListTraces(const ReportFilter& filter, int64_t limit,
                                                 const std::optional<base::Uuid>& before) override;
  base::Result<std::optional<StoredTrace>> FindTrace(const base::Uuid& id) override;
  base::Result<bool> RemoveTracesBefore(int64_t day, int64_t limit) override;
  base::Status PutNote(const ClusterNote& note) override;
  base::Result<std::vector<ClusterNote>> Notes() override;
  base::Result<std::vector<FrameSummary>> Frames(const ReportFilter& filter, int64_t limit) override;
  base::Result<std::vector<ReportRow>> ReportsOfRun(const base::Uuid& session_id, int64_t first_wall_ms,
                                                    int64_t last_wall_ms, int64_t limit) override;
  base::Result<std::vector<RunEndRow>> RunEndsOf(std::span<const base::Uuid> session_ids) override;
  base::Result<std::vector<ExitCount>> CountExits(const ReportFilter& filter) override;
  base::Result<std::vector<LossRow>> Losses(const ReportFilter& filter) override;
  base::Result<double> WatchedNs(const ReportFilter& filter) override;
  base::Result<std::vector<WatchedVersion>> WatchedVersions(const ReportFilter& filter) override;
  base::Status ForEachUsage(const ReportFilter& filter,
                            const std::function<void(std::string_view payload)>& visit) override;
  base::Status ForEachUnknownRecord(
      const std::function<void(const report::OwnedRecord& record)>& visit) override;

 private:
  SqliteStore(const std::string& path, LogSync::SyncFile sync_file);

  // Returns the result of `work`, which reads.
  template <typename Work>
  auto Read(Work work) -> ResultOf<decltype(work(nullptr))>;
  // Returns the result of `work`, a transaction, once it is on disk.
  template <typename Work>
  auto Write(Work work) -> base::Result<decltype(work(nullptr))>;
  // The same, without waiting for the disk.
  template <typename Work>
  auto WriteUnsynced(Work work) -> base::Result<decltype(work(nullptr))>;

  // With the writer held, as the next ones.
  void NotePages(Database* database);
  void RemoveOtherRecordsBefore(Database* database, int64_t day);
  // `sender` is the key that brought the record; 0 when not known.
  CommitOutcome Insert(Database* database, int64_t sender, const NewReport& report);
  CommitOutcome Insert(Database* database, int64_t sender, const report::HangEnd& end);
  CommitOutcome Insert(Database* database, int64_t sender, const report::RunEnd& end);
  CommitOutcome Insert(Database* database, int64_t sender, const report::FrameSlice& slice);
  CommitOutcome Insert(Database* database, int64_t sender, const NewUsage& added);
  CommitOutcome Insert(Database* database, int64_t sender, const report::Losses& losses);
  CommitOutcome Insert(Database* database, int64_t sender, const NewTrace& added);
  CommitOutcome Insert(Database* database, int64_t sender, const report::OwnedRecord& record);
  int64_t SenderId(Database* database, const std::string& name);

  const std::string path_;
  Connections connections_;
  LogSync log_sync_;
  // All used with the writer held.
  ReportWriter reports_;
  UnusedRows unused_;
  UnknownTable unknown_;
  std::map<std::string, int64_t> sender_ids_;  // rows of `senders` by key name, of the keys used so far
  // Of the last commit.
  std::atomic<int64_t> page_size_{0};
  std::atomic<int64_t> pages_{0};
  std::atomic<int64_t> free_pages_{0};
  std::atomic<uint64_t> most_bytes_{0};  // 0: no limit
};

}  // namespace lagwatch::collector
