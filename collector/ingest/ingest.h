// SPDX-License-Identifier: Apache-2.0
// Takes batches of reports into the store. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/cluster/clusterer.h"
#include "collector/ingest/app_quota.h"
#include "collector/ingest/group_commit.h"
#include "collector/ingest/name_limits.h"
#include "collector/ingest/sender.h"
#include "collector/ingest/time_bounds.h"
#include "collector/ingest/trace_limits.h"
#include "collector/ingest/trace_quota.h"
#include "collector/ingest/weight_limits.h"
#include "collector/store/store.h"
#include "collector/symbols/names/symbolizer.h"
#include "report/format/packed_batch.h"
#include "report/seal/record_opener.h"

namespace lagwatch::collector {

// The result of one record of a batch.
struct RecordResult {
  enum class Kind { kStored, kDuplicate, kRejected };

  Kind kind = Kind::kStored;
  std::string why = {};        // it was rejected, for a person
  bool is_refused = false;     // rejected because of its times, ids or durations (TimeBounds)
  bool is_over_quota = false;  // rejected because its program has no more reports in a day (AppQuota)
};

struct IngestResult {
  std::vector<RecordResult> records;  // of the batch, in order; those of a packed batch stand in its place
  // The same in numbers.
  int64_t accepted = 0;
  int64_t duplicates = 0;
  int64_t rejected = 0;
  int64_t refused = 0;     // of those rejected
  int64_t over_quota = 0;  // likewise
  int64_t folded = 0;      // accepted or known, and a name of theirs counts under "(others)" (name_limits.h)
  int64_t bounded = 0;     // likewise, and they count for less than they say (weight_limits.h)
};

class Ingest {
 public:
  // Borrows `store`, and `opener` of sealed records, which may be null: then they are refused. Both must
  // outlive this. `limits` are of a batch. `times` decides which records are refused.
  // Borrows `app_quota`, which may be null.
  Ingest(StoreWriter* store, Clusterer clusterer, const report::RecordOpener* opener = nullptr,
         const report::UnpackLimits& limits = {}, const TraceLimits& traces = {}, TimeRule times = {},
         const NameBounds& names = {}, AppQuota* app_quota = nullptr)
      : store_(store),
        clusterer_(std::move(clusterer)),
        opener_(opener),
        limits_(limits),
        trace_limits_(traces),
        trace_quota_(traces),
        times_(std::move(times)),
        name_limits_(names),
        app_quota_(app_quota) {}

  // From now on causes are named by files of `symbolizer`, too, as soon as a report comes: where nothing
  // names them later. Borrows it; may be null. To be called before Submit().
  void NameBy(Symbolizer* symbolizer) { symbolizer_ = symbolizer; }

  // From now on pinned versions have room among the names, and `weights`, which may be null, bounds what
  // records count for. Borrows them. To be called before Submit().
  void BoundBy(NameLimits::IsPinned is_pinned, WeightLimits* weights) {
    name_limits_.PinBy(std::move(is_pinned));
    weights_ = weights;
  }

  // `batch` is an encoded lagwatch.Batch. Returns after the commit. A malformed record is refused alone; one
  // of a type that is not known here is kept as it is. Errors: kInvalid when the batch is unreadable or holds
  // nothing but malformed records (one that is refused or over a quota is not malformed); kTooLarge when too
  // much was sealed in it; kUnavailable or kInternal, and nothing is stored, when the database refuses or
  // there is too little memory. Traces count in the quota of `sender`,
  // names in its bounds, and all that is stored can be deleted by its key.
  base::Result<IngestResult> Submit(std::string_view batch, const Sender& sender = {}) const;

  // The same, committed together with what others bring: `done` is called once, on this thread or on one of
  // `commits`, which must outlive the call.
  using Done = std::function<void(base::Result<IngestResult>)>;
  void Submit(std::string_view batch, GroupCommit* commits, Done done, const Sender& sender = {}) const;

 private:
  struct CountedTrace {
    size_t index = 0;  // in the valid ones
    size_t size_bytes = 0;
  };
  struct CountedReport {
    size_t index = 0;  // in the valid ones
    std::string app;
  };
  // That have room in quotas.
  struct CountedRecords {
    std::vector<CountedTrace> traces;
    std::vector<CountedReport> reports;
  };
  struct ReadRecords {
    std::vector<NewRecord> valid;
    std::vector<RecordResult> results;  // of all that the batch holds, in order; kStored: to be committed
    CountedRecords counted;
    TimeBounds bounds;
    bool is_refused = false;  // the record that was read last
    int64_t folded = 0;
    int64_t bounded = 0;
  };

  base::Result<ReadRecords> ReadBatch(std::string_view batch, const Sender& sender) const;
  // The next of `all`'s valid ones, if it is valid.
  base::Result<NewRecord> Read(report::RecordType type, std::string_view payload, const Sender& sender,
                               ReadRecords* all) const;
  base::Result<NewRecord> ReadTrace(report::TraceRecord record, const Sender& sender, ReadRecords* all) const;
  // Whether the record's program has room for it today; the next of `all`'s valid ones then has it.
  bool TakeRoom(const NewRecord& record, ReadRecords* all) const;
  // Whether a name was one too many.
  bool BoundNames(const Sender& sender, NewRecord* record) const;
  // The room of those that were not stored.
  void GiveBack(const CountedRecords& counted, const Sender& sender,
                const base::Result<std::vector<CommitOutcome>>& outcomes) const;

  StoreWriter* store_;
  Clusterer clusterer_;
  const report::RecordOpener* opener_;
  report::UnpackLimits limits_;
  TraceLimits trace_limits_;
  mutable TraceQuota trace_quota_;
  TimeRule times_;
  mutable NameLimits name_limits_;
  AppQuota* app_quota_;
  Symbolizer* symbolizer_ = nullptr;
  WeightLimits* weights_ = nullptr;
};

}  // namespace lagwatch::collector
