// SPDX-License-Identifier: Apache-2.0
// The tables of records that have no sums: slices of frames, annotations, ends of runs, traces, and records
// of unknown types. `sender` is the key that brought a record (schema.h). All throw SqliteError. Context:
// background.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.h"
#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/version_sums.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// Returns whether it is new, as the next ones.
bool InsertFrames(Database* database, const report::FrameSlice& slice, int64_t sender);
// Up to `limit` summaries, those with the most dropped frames first. Of the filter, app and version count.
std::vector<FrameSummary> ReadFrames(Database* database, const ReportFilter& filter, int64_t limit);

void PutNote(Database* database, const ClusterNote& note);
// In the order of their keys.
std::vector<ClusterNote> ReadNotes(Database* database);

bool InsertRunEnd(Database* database, const report::RunEnd& end, int64_t sender);
std::vector<RunEndRow> ReadRunEnds(Database* database, std::span<const base::Uuid> session_ids);
// Of the filter, app and version count.
std::vector<ExitCount> CountExits(Database* database, const ReportFilter& filter);

// Within a transaction, as the next one.
bool InsertTrace(Database* database, const NewTrace& added, int64_t sender);
// Up to `limit` with ids before `end`; returns how many.
int64_t RemoveTraces(Database* database, const base::Uuid& end, int64_t limit);
// See StoredTraces.
std::vector<TraceRow> ReadTracesOf(Database* database, std::span<const base::Uuid> report_ids);
std::vector<TraceRow> ListTracesIn(Database* database, const ReportFilter& filter, int64_t limit,
                                   const std::optional<base::Uuid>& before);
std::optional<StoredTrace> ReadTrace(Database* database, const base::Uuid& id);
std::vector<StoredTrace> ReadProbeResults(Database* database, const ReportFilter& filter, int64_t script_key,
                                          int64_t limit);

// Losses and their sums.

// Adds a record's losses and inserts the causes that they are of into `causes`. `sender` is the key that
// brought it (schema.h). Returns whether any of it is new.
bool InsertLosses(Database* database, const report::Losses& losses, int64_t sender,
                  std::set<int64_t>* causes);
// Takes records with ids before `end` out of the table and out of the sums. Inserts their
// causes into `causes`.
void RemoveLosses(Database* database, const base::Uuid& end, std::set<int64_t>* causes);
// The same of records with these ids, as bytes.
void RemoveLosses(Database* database, std::span<const std::string> ids, std::set<int64_t>* causes);
// Rebuilds the sums of all losses. Inserts their causes, including those that have none left, into `causes`.
void RebuildLossSums(Database* database, std::set<int64_t>* causes);

std::vector<LossRow> ReadLosses(Database* database, const ReportFilter& filter);

// Records of usage, and the sums of programs' watched time, which are updated as records arrive.

// `sender` is the key that brought it (schema.h). Returns whether it is new.
bool InsertUsage(Database* database, const NewUsage& added, int64_t sender);
void AddToUsageSums(Database* database, const report::Usage& usage);
// Removes usage records by their rows, with their contributions to the sums.
void RemoveUsage(Database* database, std::span<const int64_t> rows);
// Of the filter, app, version and days count.
double ReadWatchedNs(Database* database, const ReportFilter& filter);
// Calls `visit` for each record that ended since the filter's first day. Its app, version and user count,
// too.
void ReadEachUsage(Database* database, const ReportFilter& filter,
                   const std::function<void(std::string_view payload)>& visit);
std::vector<WatchedVersion> ReadWatchedVersions(Database* database, const ReportFilter& filter);

// Records of types that only a newer lagwatch knows. Not thread-safe.
class UnknownTable {
 public:
  // To be called at the beginning of a transaction that inserts.
  void Begin() { count_.reset(); }
  CommitOutcome Insert(Database* database, const report::OwnedRecord& record, int64_t sender);

 private:
  std::optional<int64_t> count_;  // known within a transaction that needs it
};

// In the order in which they came.
void ReadUnknown(Database* database, const std::function<void(const report::OwnedRecord& record)>& visit);

}  // namespace lagwatch::collector
