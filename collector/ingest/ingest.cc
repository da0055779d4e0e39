// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/ingest.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "collector/ingest/opened_records.h"
#include "collector/ingest/report_limits.h"
#include "collector/symbols/names/symbol_namer.h"

namespace lagwatch::collector {
namespace {

// Counts it, too.
void Add(RecordResult result, IngestResult* all) {
  all->accepted += result.kind == RecordResult::Kind::kStored;
  all->duplicates += result.kind == RecordResult::Kind::kDuplicate;
  all->rejected += result.kind == RecordResult::Kind::kRejected;
  all->refused += result.is_refused;
  all->over_quota += result.is_over_quota;
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
          "the collector stores no more ends without their reports, or records of unknown types"};
}

// The times that a record may have, by its program where it names one.
template <typename Record>
TimeBounds BoundsOf(const Record& record, const TimeBounds& bounds, const TimeRule& rule) {
  if constexpr (requires { record.app; }) {
    return bounds.OfApp(rule, record.app);
  } else {
    return bounds;
  }
}

base::Status NoMoreReports() {
  return {base::StatusCode::kTooLarge, "the collector accepts no more reports of this program today"};
}

base::Status UnmatchedEnd() {
  return {base::StatusCode::kInvalid,
          "refused: the report of this end is not known here, and there were too many such ends today"};
}

// `outcomes` are of the records that were to be committed.
base::Result<IngestResult> IngestResultOf(const std::vector<RecordResult>& results,
                                          const base::Result<std::vector<CommitOutcome>>& outcomes,
                                          int64_t folded, int64_t bounded) {
  if (!outcomes.ok()) return outcomes.status();
  IngestResult result;
  result.folded = folded;
  result.bounded = bounded;
  auto outcome = outcomes->begin();
  for (const RecordResult& each : results)
    Add(each.kind == RecordResult::Kind::kStored ? ToResult(*outcome++) : each, &result);
  return result;
}

}  // namespace

base::Result<NewRecord> Ingest::Read(report::RecordType type, std::string_view payload, const Sender& sender,
                                     ReadRecords* all) const {
  auto as_is = [](auto record) { return record; };
  // Wraps a record that could be decoded and is within the limits.
  auto checked = [this, all](auto decoded, auto wrap) -> base::Result<NewRecord> {
    if (!decoded.ok()) return decoded.status();
    if (base::Status limits = CheckLimits(*decoded); !limits.ok()) return limits;
    if (base::Status times = CheckTimes(*decoded, BoundsOf(*decoded, all->bounds, times_)); !times.ok()) {
      all->is_refused = true;
      return times;
    }
    return NewRecord(wrap(std::move(*decoded)));
  };
  switch (type) {
    case report::RecordType::kReport:
      return checked(report::DecodeReport(payload), [&](report::Report report) {
        ClusterPath clusters = clusterer_.Assign(report, SymbolNamer(report, symbolizer_));
        return NewReport::Create(report, std::move(clusters), payload);
      });
    case report::RecordType::kHangEnd:
      return checked(report::DecodeHangEnd(payload), as_is);
    case report::RecordType::kRunEnd:
      return checked(report::DecodeRunEnd(payload), as_is);
    case report::RecordType::kFrameSlice:
      return checked(report::DecodeFrameSlice(payload), as_is);
    case report::RecordType::kUsage:
      return checked(report::DecodeUsage(payload), [&](report::Usage usage) {
        return NewUsage{std::move(usage), std::string(payload)};
      });
    case report::RecordType::kLosses:
      return checked(report::DecodeLosses(payload), as_is);
    case report::RecordType::kTrace: {
      auto record = LAGWATCH_TRY(report::DecodeTraceRecord(payload));
      return ReadTrace(std::move(record), sender, all);
    }
    default:
      break;
  }
  if (payload.size() > kMaxUnknownBytes) {
    return base::Status(base::StatusCode::kInvalid, "the record is of an unknown type, and has more than " +
                                                        std::to_string(kMaxUnknownBytes) + " bytes");
  }
  return NewRecord(report::OwnedRecord{type, std::string(payload)});
}

// A trace has its place in the day's quota before it is unfolded, and keeps it when it is a bad one: to find
// that out is the work that the quota limits.
base::Result<NewRecord> Ingest::ReadTrace(report::TraceRecord record, const Sender& sender,
                                          ReadRecords* all) const {
  if (base::Status times = CheckTimes(record, BoundsOf(record, all->bounds, times_)); !times.ok()) {
    all->is_refused = true;
    return times;
  }
  const size_t size_bytes = record.trace.size();
  if (!trace_quota_.TryTake(sender, size_bytes, base::SystemClock().WallMs()))
    return base::Status(base::StatusCode::kTooLarge,
                        "the collector accepts no more traces of this project today");
  if (base::Status checked = CheckTrace(record, trace_limits_); !checked.ok()) return checked;
  all->counted.traces.push_back({all->valid.size(), size_bytes});
  return NewRecord(NewTrace::Create(std::move(record)));
}

void Ingest::GiveBack(const CountedRecords& counted, const Sender& sender,
                      const base::Result<std::vector<CommitOutcome>>& outcomes) const {
  const int64_t now_ms = base::SystemClock().WallMs();
  const auto is_stored = [&](size_t index) {
    return outcomes.ok() && (*outcomes)[index] == CommitOutcome::kStored;
  };
  for (const CountedTrace& trace : counted.traces)
    if (!is_stored(trace.index)) trace_quota_.GiveBack(sender, trace.size_bytes, now_ms);
  for (const CountedReport& report : counted.reports)
    if (!is_stored(report.index)) app_quota_->GiveBack(report.app, now_ms);
}

bool Ingest::TakeRoom(const NewRecord& record, ReadRecords* all) const {
  const auto* report = std::get_if<NewReport>(&record);
  if (report == nullptr || app_quota_ == nullptr || !app_quota_->Has(report->row.app)) return true;
  if (!app_quota_->TryTake(report->row.app, base::SystemClock().WallMs())) return false;
  all->counted.reports.push_back({all->valid.size(), report->row.app});
  return true;
}

bool Ingest::BoundNames(const Sender& sender, NewRecord* record) const {
  const int64_t now_ms = base::SystemClock().WallMs();
  if (auto* added = std::get_if<NewReport>(record)) {
    ReportRow& row = added->row;
    return name_limits_.Bound(sender, now_ms, &row.app, &row.version, &row.loop, &row.os);
  }
  if (auto* added = std::get_if<NewTrace>(record))
    return name_limits_.Bound(sender, now_ms, &added->row.app, &added->row.version);
  const auto bound = [&](auto* of) { return name_limits_.Bound(sender, now_ms, &of->app, &of->app_version); };
  if (auto* added = std::get_if<NewUsage>(record)) return bound(&added->usage);
  if (auto* end = std::get_if<report::RunEnd>(record)) return bound(end);
  if (auto* slice = std::get_if<report::FrameSlice>(record)) return bound(slice);
  if (auto* losses = std::get_if<report::Losses>(record)) return bound(losses);
  return false;
}

base::Result<Ingest::ReadRecords> Ingest::ReadBatch(std::string_view batch, const Sender& sender) const {
  auto records = LAGWATCH_TRY(report::ReadBatch(batch, limits_));

  ReadRecords all;
  all.bounds = TimeBounds::Of(times_);
  OpenedRecords opened(opener_);
  for (const report::OwnedRecord& listed : records) {
    auto record = opened.Open(listed);
    if (!record.ok() && record.status().code() != base::StatusCode::kInvalid) {
      GiveBack(all.counted, sender, record.status());
      return record.status();
    }
    all.is_refused = false;
    auto read = record.ok() ? Read(record->type, record->payload, sender, &all)
                            : base::Result<NewRecord>(record.status());
    const bool is_folded = read.ok() && BoundNames(sender, &*read);
    const bool is_over_quota = read.ok() && !TakeRoom(*read, &all);
    if (is_over_quota) read = NoMoreReports();
    if (read.ok() && weights_ != nullptr) {
      const auto weighed = weights_->Bound(sender, base::SystemClock().WallMs(), &*read);
      all.bounded += weighed == WeightLimits::Result::kLess ? 1 : 0;
      all.is_refused = weighed == WeightLimits::Result::kRefused;
      if (all.is_refused) read = UnmatchedEnd();
    }
    all.results.push_back(read.ok() ? RecordResult{}
                                    : RecordResult{.kind = RecordResult::Kind::kRejected,
                                                   .why = read.status().message(),
                                                   .is_refused = all.is_refused,
                                                   .is_over_quota = is_over_quota});
    if (!read.ok()) continue;
    all.folded += is_folded ? 1 : 0;
    read->sender = sender.key;
    all.valid.push_back(std::move(*read));
  }
  const auto is_malformed = [](const RecordResult& each) {
    return each.kind == RecordResult::Kind::kRejected && !each.is_refused && !each.is_over_quota;
  };
  if (!all.results.empty() && std::ranges::all_of(all.results, is_malformed)) {
    return base::Status(base::StatusCode::kInvalid,
                        "no record of the batch is valid; the first: " + all.results.front().why);
  }
  return all;
}

base::Result<IngestResult> Ingest::Submit(std::string_view batch, const Sender& sender) const {
  auto records = LAGWATCH_TRY(ReadBatch(batch, sender));
  if (records.valid.empty()) return IngestResultOf(records.results, std::vector<CommitOutcome>(), 0, 0);
  const auto outcomes = store_->Commit(records.valid);
  GiveBack(records.counted, sender, outcomes);
  return IngestResultOf(records.results, outcomes, records.folded, records.bounded);
}

void Ingest::Submit(std::string_view batch, GroupCommit* commits, Done done, const Sender& sender) const {
  auto records = ReadBatch(batch, sender);
  if (!records.ok()) return done(records.status());
  if (records->valid.empty())
    return done(IngestResultOf(records->results, std::vector<CommitOutcome>(), 0, 0));
  commits->Commit(
      std::move(records->valid),
      [this, results = std::move(records->results), counted = std::move(records->counted),
       folded = records->folded, bounded = records->bounded, sender, done = std::move(done)](auto outcomes) {
        GiveBack(counted, sender, outcomes);
        done(IngestResultOf(results, outcomes, folded, bounded));
      },
      sender);
}

}  // namespace lagwatch::collector
