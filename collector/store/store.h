// SPDX-License-Identifier: Apache-2.0
// The collector's store: reports, the clusters they belong to, and their sums. Its users take the part that
// they need. Thread safety: all methods may be called from any thread. Context: background. Errors of all
// methods: kUnavailable if the database refuses; the message holds its reason.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "collector/store/records.h"
#include "collector/store/removal.h"
#include "collector/store/version_sums.h"

namespace lagwatch::collector {

// The reports, and the modules whose symbols they lack.
class StoredReports {
 public:
  virtual ~StoredReports() = default;

  // Up to `limit` reports, the newest id first; those before the id `before` where it is given.
  virtual base::Result<std::vector<ReportRow>> Reports(const ReportFilter& filter, int64_t limit,
                                                       const std::optional<base::Uuid>& before = {}) = 0;
  // Calls `visit` for every report, in no particular order.
  virtual base::Status ForEachReport(const ReportFilter& filter,
                                     const std::function<void(const ReportRow&)>& visit) = 0;
  virtual base::Result<std::optional<StoredReport>> FindReport(const base::Uuid& id) = 0;
  // Those that are there, in the order of ids.
  virtual base::Result<std::vector<StoredReport>> FindReports(std::span<const base::Uuid> ids) = 0;
  // Up to `limit` ids from `first` to `last`, both included.
  virtual base::Result<std::vector<base::Uuid>> FindIds(const base::Uuid& first, const base::Uuid& last,
                                                        int64_t limit) = 0;
  // Up to `limit` reports with ids after `after`, in the order of ids: for jobs that visit all of them.
  virtual base::Result<std::vector<StoredReport>> ReportsAfter(const base::Uuid& after, int64_t limit) = 0;
  // Up to `limit` reports of a run that were made from `first_wall_ms` (since 1970) to `last_wall_ms`, the
  // newest id first.
  virtual base::Result<std::vector<ReportRow>> ReportsOfRun(const base::Uuid& session_id,
                                                            int64_t first_wall_ms, int64_t last_wall_ms,
                                                            int64_t limit) = 0;
  // Modules that reports have frames without names of, those of the most reports first.
  virtual base::Result<std::vector<UnnamedBuild>> UnnamedBuilds(int64_t limit) = 0;
  // Up to `limit` reports with such frames of that module; Recluster with `named_build` ends that.
  virtual base::Result<std::vector<StoredReport>> ReportsWithUnnamed(const std::string& build_id,
                                                                     int64_t limit) = 0;
};

// The clusters of reports, their sums, and the notes that people put on them.
class StoredCauses {
 public:
  virtual ~StoredCauses() = default;

  virtual base::Result<CausePage> Causes(const CauseQuery& query) = 0;
  // The sums of the reports of a cluster that match, with its children; nothing if there are none,
  // or only dumps.
  virtual base::Result<std::optional<CauseRow>> FindCause(const std::string& key,
                                                          const ReportFilter& filter = {}) = 0;
  // The versions of programs that have such reports of a cluster, by app and version.
  virtual base::Result<std::vector<CauseVersion>> CauseVersions(const std::string& key,
                                                                const ReportFilter& filter = {}) = 0;
  // A cluster's days that had reports, oldest first.
  virtual base::Result<std::vector<CausePeriod>> CauseDays(const std::string& key) = 0;
  // Those from `first_day` to `last_day` of several clusters, without what takes long to add up.
  virtual base::Result<DaysOfCauses> CostByDay(std::span<const std::string> keys, int64_t first_day,
                                               int64_t last_day) = 0;
  virtual base::Result<std::optional<Cluster>> FindCluster(const std::string& key) = 0;
  // Of a cluster, the newest note counts.
  virtual base::Status PutNote(const ClusterNote& note) = 0;
  virtual base::Result<std::vector<ClusterNote>> Notes() = 0;
};

class StoredTraces {
 public:
  virtual ~StoredTraces() = default;

  // Traces that belong to these reports, in the order of their ids.
  virtual base::Result<std::vector<TraceRow>> TracesOf(std::span<const base::Uuid> report_ids) = 0;
  // Up to `limit` traces with ids before `before`, if there is one, the newest first; also those that belong
  // to no report. Only the filter's app, version and user count. Results of probes are not among them.
  virtual base::Result<std::vector<TraceRow>> ListTraces(const ReportFilter& filter, int64_t limit,
                                                         const std::optional<base::Uuid>& before) = 0;
  virtual base::Result<std::optional<StoredTrace>> FindTrace(const base::Uuid& id) = 0;
  // Up to `limit` results of probes (report/probes/probe_result.h), the newest first; of the script with this
  // key (report::KeyOfScript) if it is not 0. Of the filter, app, version, user and the first day count.
  virtual base::Result<std::vector<StoredTrace>> ProbeResults(const ReportFilter& filter, int64_t script_key,
                                                              int64_t limit) = 0;
};

// The use of programs: frames, ends of runs, losses, watched time.
class StoredUsage {
 public:
  virtual ~StoredUsage() = default;

  // Those with the most dropped frames first. Only the filter's app and version count.
  virtual base::Result<std::vector<FrameSummary>> Frames(const ReportFilter& filter, int64_t limit) = 0;
  // Of those runs that are known to be over, in no particular order.
  virtual base::Result<std::vector<RunEndRow>> RunEndsOf(std::span<const base::Uuid> session_ids) = 0;
  // Only the filter's app and version count.
  virtual base::Result<std::vector<ExitCount>> CountExits(const ReportFilter& filter) = 0;
  // Those with the most reports first. Only the filter's app and version count.
  virtual base::Result<std::vector<LossRow>> Losses(const ReportFilter& filter) = 0;
  // The watched time of loops on all users' machines, in ns. Of the filter, app, version and days count.
  virtual base::Result<double> WatchedNs(const ReportFilter& filter) = 0;
  // The same of each version, by app and version.
  virtual base::Result<std::vector<WatchedVersion>> WatchedVersions(const ReportFilter& filter) = 0;
  // Calls `visit` with every Usage record as it was encoded, in no particular order. Of the filter, app,
  // version, user and the first day count: what ended before that is left out.
  virtual base::Status ForEachUsage(const ReportFilter& filter,
                                    const std::function<void(std::string_view payload)>& visit) = 0;
  // Calls `visit` with every record of a type that was not known when it came, oldest first.
  virtual base::Status ForEachUnknownRecord(
      const std::function<void(const report::OwnedRecord& record)>& visit) = 0;
};

// All that a query may need.
class StoreReader : public StoredReports, public StoredCauses, public StoredTraces, public StoredUsage {};

// Stores records as they arrive, and the clusters that reports are moved to.
class StoreWriter {
 public:
  virtual ~StoreWriter() = default;

  static constexpr int64_t kMaxUnknownRecords = 10'000;

  // All or nothing, and durable when it returns: the outcome of each, in their order. A hang's end, or its
  // run's, may come before its report; it then waits for it. The reports of a hang that its run was killed in
  // become of kind "killed-in-hang" and end with the known duration, unless the hang's own end is known.
  virtual base::Result<std::vector<CommitOutcome>> Commit(std::span<const NewRecord> records) = 0;
  // As Commit, but a power cut may undo it until Sync has returned. Queries see the records at once.
  virtual base::Result<std::vector<CommitOutcome>> CommitUnsynced(std::span<const NewRecord> records) {
    return Commit(records);
  }
  // Waits until everything committed before the call is on disk. Other commits continue meanwhile. After an
  // error, records that were not synced before may or may not be there.
  virtual base::Status Sync() { return {}; }
  // Counts the times at which unsynced commits may have been lost with a database that was set aside:
  // commits before such a moment are not durable, whatever Sync() returns afterwards.
  virtual uint64_t LostLogs() const { return 0; }
  // Errors: kUnavailable when that was since LostLogs() was `before`.
  base::Status CheckNotLost(uint64_t before) const {
    if (LostLogs() == before) return {};
    return {base::StatusCode::kUnavailable, "the disk refused records before their database was set aside"};
  }
  // Batches that were committed, and then refused by a database elsewhere.
  virtual RefusedBatches Refused() { return {}; }
  // Moves reports to their clusters. Those that are not there (any more) are left out.
  virtual base::Status Recluster(std::span<const Reclustered> reports) = 0;
};

// Removes records that are too old or unwanted, and repairs the sums afterwards.
class StoreMaintenance {
 public:
  virtual ~StoreMaintenance() = default;

  // Removes `limit` reports that were made before that day (since 1970 UTC, by their ids), or more where
  // whole days are removed at once, and other records of that age; returns the number of removed reports:
  // fewer when none are left. Their contributions to sums are removed, too.
  virtual base::Result<int64_t> RemoveBefore(int64_t day, int64_t limit) = 0;
  // As RemoveBefore, which removes these, too, of traces alone; whether there may be more.
  virtual base::Result<bool> RemoveTracesBefore(int64_t day, int64_t limit) = 0;
  // Removes up to `limit` records that `removal` selects, or more where many are removed at once, with their
  // contributions to sums, and returns whether there may be more; `progress` is where it continues.
  // RepairSums does the rest.
  virtual base::Result<bool> Remove(const Removal& removal, int64_t limit, RemovalProgress* progress) = 0;
  // Removes the names that no report has any more (programs' versions, clusters), looking at up to `limit` of
  // each kind; whether there are more to look at. Names that people said something of stay.
  virtual base::Result<bool> RemoveUnused(int64_t limit) = 0;
  // The day (since 1970 UTC) of the newest record, by the ids that clients gave; nothing of an empty store.
  virtual base::Result<std::optional<int64_t>> NewestDay() = 0;
  // The day of the oldest report, trace, loss, use or frames: RemoveBefore the next one removes something.
  // Nothing of an empty store, or of a kind of store that does not know.
  virtual base::Result<std::optional<int64_t>> OldestDay() { return std::optional<int64_t>(); }
  // Puts right what taking reports out of sums leaves behind (users, first and last times, longest hangs), of
  // up to `limit` clusters, then of all reports; returns how many sums it did.
  virtual base::Result<int64_t> RepairSums(int64_t limit) = 0;
  // Gives some of the space back that removed reports have left; whether there is more to give back.
  virtual base::Result<bool> Compact() = 0;
  // Overwrites on disk what Remove has removed. Errors: kUnavailable while a query still reads it; call
  // again.
  virtual base::Status EraseRemoved() { return {}; }
};

class Store : public StoreReader, public StoreWriter, public StoreMaintenance {};

}  // namespace lagwatch::collector
