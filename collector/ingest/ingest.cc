// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/ingest.h"

#include <utility>

#include "base/clock.h"
#include "collector/ingest/opened_records.h"
#include "collector/ingest/report_limits.h"

namespace lagwatch::collector {
namespace {

// What `wrap` makes of a record that could be decoded and is within the limits.
template <typename Decoded, typename Wrap>
base::Result<NewRecord> Checked(base::Result<Decoded> decoded, Wrap wrap) {
  if (!decoded.ok()) return decoded.status();
  if (base::Status limits = CheckLimits(*decoded); !limits.ok()) return limits;
  return NewRecord(wrap(std::move(*decoded)));
}

// Counts it, too.
void Add(RecordResult result, IngestResult* all) {
  all->accepted += result.kind == RecordResult::Kind::kStored;
  all->duplicates += result.kind == RecordResult::Kind::kDuplicate;
  all->rejected += result.kind == RecordResult::Kind::kRejected;
  all->records.push_back(std::move(result));
}

RecordResult ToResult(CommitOutcome outcome) {
  switch (outcome) {
    case CommitOutcome::kStored:
      return {RecordResult::Kind::kStored};
    case CommitOutcome::kDuplicate:
      return {RecordResult::Kind::kDuplicate};
    case CommitOutcome::kNoRoom:
      break;
  }
  return {RecordResult::Kind::kRejected,
          "the collector keeps no more records of types that it does not know; update it"};
}

// `outcomes` are of those whose status is good.
base::Result<IngestResult> ResultOf(const std::vector<base::Status>& statuses,
                                    const base::Result<std::vector<CommitOutcome>>& outcomes) {
  if (!outcomes.ok()) return outcomes.status();
  IngestResult result;
  auto outcome = outcomes->begin();
  for (const base::Status& status : statuses) {
    Add(status.ok() ? ToResult(*outcome++) : RecordResult{RecordResult::Kind::kRejected, status.message()},
        &result);
  }
  return result;
}

}  // namespace

base::Result<NewRecord> Ingest::Read(report::RecordType type, std::string_view payload,
                                     std::string_view project, ReadRecords* all) const {
  auto as_is = [](auto record) { return record; };
  switch (type) {
    case report::RecordType::kReport:
      return Checked(report::DecodeReport(payload), [&](report::Report report) {
        ClusterPath clusters = clusterer_.Assign(report);
        return NewReport::Create(report, std::move(clusters), payload);
      });
    case report::RecordType::kLagEnd:
      return Checked(report::DecodeLagEnd(payload), as_is);
    case report::RecordType::kRunEnd:
      return Checked(report::DecodeRunEnd(payload), as_is);
    case report::RecordType::kFrameSlice:
      return Checked(report::DecodeFrameSlice(payload), as_is);
    case report::RecordType::kUsage:
      return Checked(report::DecodeUsage(payload), [&](report::Usage usage) {
        return NewUsage{std::move(usage), std::string(payload)};
      });
    case report::RecordType::kLosses:
      return Checked(report::DecodeLosses(payload), as_is);
    case report::RecordType::kTrace: {
      auto record = report::DecodeTraceRecord(payload);
      if (!record.ok()) return record.status();
      return ReadTrace(std::move(*record), project, all);
    }
    default:
      break;
  }
  if (payload.size() > kMaxUnknownBytes) {
    return base::Status(base::StatusCode::kInvalid,
                        "the record is of a type that is not known here, and has more than " +
                            std::to_string(kMaxUnknownBytes) + " bytes");
  }
  return NewRecord(UnknownRecord{type, std::string(payload)});
}

// A trace has its place in the day's quota before it is unfolded, and keeps it when it is a bad one: to find
// that out is the work that the quota limits.
base::Result<NewRecord> Ingest::ReadTrace(report::TraceRecord record, std::string_view project,
                                          ReadRecords* all) const {
  const size_t size_bytes = record.trace.size();
  if (!trace_quota_.TryTake(project, size_bytes, base::SystemClock().WallMs()))
    return base::Status(base::StatusCode::kTooLarge,
                        "the collector takes no more traces of this project today");
  if (base::Status checked = CheckTrace(record, trace_limits_); !checked.ok()) return checked;
  all->traces.push_back({all->valid.size(), size_bytes});
  return NewRecord(NewTrace::Create(std::move(record)));
}

void Ingest::GiveBack(const std::vector<CountedTrace>& traces, std::string_view project,
                      const base::Result<std::vector<CommitOutcome>>& outcomes) const {
  for (const CountedTrace& trace : traces) {
    if (outcomes.ok() && (*outcomes)[trace.index] == CommitOutcome::kStored) continue;
    trace_quota_.GiveBack(project, trace.size_bytes, base::SystemClock().WallMs());
  }
}

base::Result<Ingest::ReadRecords> Ingest::ReadBatch(std::string_view batch, std::string_view project) const {
  auto records = report::ReadBatch(batch, limits_);
  if (!records.ok()) return records.status();

  ReadRecords all;
  OpenedRecords opened(opener_);
  for (const report::OwnedRecord& listed : *records) {
    auto record = opened.Open({listed.type, listed.payload});
    if (!record.ok() && record.status().code() != base::StatusCode::kInvalid) {
      GiveBack(all.traces, project, record.status());
      return record.status();
    }
    auto read = record.ok() ? Read(record->type, record->payload, project, &all)
                            : base::Result<NewRecord>(record.status());
    all.statuses.push_back(read.status());
    if (!read.ok()) continue;
    read->sender = project;
    all.valid.push_back(std::move(*read));
  }
  if (all.valid.empty() && !all.statuses.empty()) {
    return base::Status(base::StatusCode::kInvalid,
                        "no record of the batch is valid; the first: " + all.statuses.front().message());
  }
  return all;
}

base::Result<IngestResult> Ingest::Submit(std::string_view batch, std::string_view project) const {
  auto records = ReadBatch(batch, project);
  if (!records.ok()) return records.status();
  const auto outcomes = store_->Commit(records->valid);
  GiveBack(records->traces, project, outcomes);
  return ResultOf(records->statuses, outcomes);
}

void Ingest::Submit(std::string_view batch, GroupCommit* commits, Done done, std::string_view project) const {
  auto records = ReadBatch(batch, project);
  if (!records.ok()) return done(records.status());
  commits->Commit(std::move(records->valid),
                  [this, statuses = std::move(records->statuses), traces = std::move(records->traces),
                   project = std::string(project), done = std::move(done)](auto outcomes) {
                    GiveBack(traces, project, outcomes);
                    done(ResultOf(statuses, outcomes));
                  });
}

}  // namespace lagwatch::collector
