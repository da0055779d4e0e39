// SPDX-License-Identifier: Apache-2.0
// The tables of records that have no sums: slices of frames, annotations, ends of runs, traces, and records
// of unknown types. `sender` is the key that brought a record (schema.h). All throw SqliteError. Context:
// background.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/uuid.h"
#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"

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
