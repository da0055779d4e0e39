// SPDX-License-Identifier: Apache-2.0
// The store in ClickHouse, for fleets: any number of collectors have one, and each has nothing of its own but
// the batches on their way there. docs/design/clickhouse.md says how. stored_traces.cc and stored_usage.cc
// have those parts of it. Thread-safe. Context: background.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/store/clickhouse/insert/record_committer.h"
#include "collector/store/clickhouse/read/hang_reader.h"
#include "collector/store/clickhouse/read/summed_causes.h"
#include "collector/store/clickhouse/read/sums_plan.h"
#include "collector/store/clickhouse/row_remover.h"
#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/node_tables.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/clickhouse/server/versions.h"
#include "collector/store/clickhouse/sums_worker.h"
#include "collector/store/guarded.h"
#include "collector/store/settings_store.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

class ClickHouseStore final : public Store, public SettingsStore {
 public:
  // Makes the tables that are not there, at all nodes that answer. `spool_directory` is made when it is not
  // there; it is this store's alone, and keeps what could not be sent until the next one is opened with it.
  // Errors: kInvalid for the URL; kUnavailable when no node answers or another store has the directory; kIo.
  // `log` gets a line for each batch that ClickHouse refused for good.
  static base::Result<std::unique_ptr<ClickHouseStore>> Open(
      const std::string& url, const std::string& spool_directory, LogLine log = [](const std::string&) {});

  // Committed records are durable before ClickHouse has them: on this machine's disk. Records that cannot be
  // sent at once are not visible until they are. While ClickHouse does not answer, duplicates are not
  // detected; then a record is kStored once more, and counts once. kUnavailable when more than a GiB waits.
  base::Result<std::vector<CommitOutcome>> Commit(std::span<const NewRecord> records) override;
  base::Result<std::vector<ReportRow>> Reports(const ReportFilter& filter, int64_t limit,
                                               const std::optional<base::Uuid>& before = {}) override {
    return Guarded([&] { return hangs_.Newest(filter, limit, before); });
  }
  base::Status ForEachReport(const ReportFilter& filter,
                             const std::function<void(const ReportRow&)>& visit) override {
    return Guarded([&] { hangs_.ForEach(filter, visit); });
  }
  base::Result<std::optional<StoredReport>> FindReport(const base::Uuid& id) override;
  base::Result<std::vector<StoredReport>> FindReports(std::span<const base::Uuid> ids) override {
    return Guarded([&] { return hangs_.StoredWithIds(ids); });
  }
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
  base::Result<std::optional<Cluster>> FindCluster(const std::string& key) override {
    return Guarded([&] { return ReadCluster(key); });
  }
  base::Result<std::vector<StoredReport>> ReportsAfter(const base::Uuid& after, int64_t limit) override;
  base::Result<std::vector<UnnamedBuild>> UnnamedBuilds(int64_t limit) override;
  base::Result<std::vector<StoredReport>> ReportsWithUnnamed(const std::string& build_id,
                                                             int64_t limit) override;
  base::Status Recluster(std::span<const Reclustered> reports) override;
  // Drops whole days, all that are old enough at once.
  base::Result<int64_t> RemoveBefore(int64_t day, int64_t limit) override;
  // Each step removes all that it finds, by mutations, and the next one waits for these: kUnavailable when
  // they take longer than a few seconds, or when what was committed before is still on its way.
  base::Result<bool> Remove(const Removal& removal, int64_t limit, RemovalProgress* progress) override;
  RefusedBatches Refused() override { return committer_.refused(); }
  // Sums up one unit (sums_worker.h). Makes the tables at nodes that did not answer before, and logs why
  // committed records wait.
  base::Result<int64_t> RepairSums(int64_t limit) override;
  // Names of clusters stay: collectors know by themselves which have a row.
  base::Result<bool> RemoveUnused(int64_t) override { return false; }
  base::Result<std::optional<int64_t>> NewestDay() override;
  // All that changed, without pauses; and from now on before each answer about causes.
  base::Status SumUpForTest();
  void SumUpBeforeAnswersForTest() { sums_up_before_answers_ = true; }
  // ClickHouse does so by itself.
  base::Result<bool> Compact() override { return false; }
  base::Result<std::vector<TraceRow>> TracesOf(std::span<const base::Uuid> report_ids) override;
  base::Result<std::vector<TraceRow>> ListTraces(const ReportFilter& filter, int64_t limit,
                                                 const std::optional<base::Uuid>& before) override;
  base::Result<std::optional<StoredTrace>> FindTrace(const base::Uuid& id) override;
  // All that are old enough at once.
  base::Result<std::vector<StoredTrace>> ProbeResults(const ReportFilter& filter, int64_t script_key,
                                                      int64_t limit) override;
  base::Result<bool> RemoveTracesBefore(int64_t day, int64_t limit) override;
  base::Status PutNote(const ClusterNote& note) override;
  base::Result<std::vector<ClusterNote>> Notes() override;
  base::Result<SharedSettings> ReadSettings(const std::string& prefix) override;
  base::Status PutSetting(const std::string& name, const SharedSetting& setting) override;
  base::Result<std::vector<FrameSummary>> Frames(const ReportFilter& filter, int64_t limit) override;
  base::Result<std::vector<ReportRow>> ReportsOfRun(const base::Uuid& session_id, int64_t first_wall_ms,
                                                    int64_t last_wall_ms, int64_t limit) override {
    return Guarded([&] { return hangs_.OfRun(session_id, first_wall_ms, last_wall_ms, limit); });
  }
  base::Result<std::vector<RunEndRow>> RunEndsOf(std::span<const base::Uuid> session_ids) override;
  base::Result<std::vector<ExitCount>> CountExits(const ReportFilter& filter) override;
  base::Result<std::vector<LossRow>> Losses(const ReportFilter& filter) override {
    return Guarded([&] { return ReadLosses(filter); });
  }
  base::Result<double> WatchedNs(const ReportFilter& filter) override;
  base::Result<std::vector<WatchedVersion>> WatchedVersions(const ReportFilter& filter) override;
  base::Status ForEachUsage(const ReportFilter& filter,
                            const std::function<void(std::string_view payload)>& visit) override;
  base::Status ForEachUnknownRecord(
      const std::function<void(const report::OwnedRecord& record)>& visit) override;

 private:
  ClickHouseStore(const ClickHouseUrl& url, std::unique_ptr<BatchSpool> spool, LogLine log);

  // Of causes; these throw ClickHouseError.
  using LostOfClusters = std::unordered_map<std::string, double>;  // of each report; "": of all clusters
  std::unique_ptr<SummedCauses> OpenSums(const ReportFilter& filter);
  LostOfClusters ReadLostPerReport();
  SummedCauses::ReportCounts CountReports(const std::set<int64_t>& causes);
  std::set<std::string> FindKeys(const CauseQuery& query);
  std::unordered_map<std::string, Cluster> ReadClusters(const std::vector<std::string>& keys);
  std::optional<Cluster> ReadCluster(const std::string& key);
  std::vector<LossRow> ReadLosses(const ReportFilter& filter);
  void Name(CausePage* page);

  // In order, each once.
  std::vector<base::Uuid> SelectIds(const std::string& condition, int64_t limit);
  void InsertNow(RecordRows* rows);
  void SumUp();
  template <typename Work>
  static auto Guarded(Work work) -> ResultOf<decltype(work())> {
    return GuardedFrom<ClickHouseError>("", std::move(work));
  }
  // Returns the result of `work`, an answer about causes: tests may have the sums right before it.
  template <typename Work>
  auto Answer(Work work) -> ResultOf<decltype(work())> {
    return Guarded([&] {
      if (sums_up_before_answers_) SumUp();
      return work();
    });
  }

  const Schema schema_;
  Connection connection_;
  NodeTables tables_{&connection_, &schema_};
  HangReader hangs_{RowSource(&connection_, &schema_), &schema_};
  KnownUnits units_{RowSource(&connection_, &schema_)};
  Versions versions_;
  std::mutex worker_mutex_;
  SumsWorker worker_;  // guarded by worker_mutex_
  std::mutex remover_mutex_;
  RowRemover remover_;  // guarded by remover_mutex_
  bool sums_up_before_answers_ = false;
  RecordCommitter committer_;
};

}  // namespace lagwatch::collector
