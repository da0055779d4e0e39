// SPDX-License-Identifier: Apache-2.0
#include "report/spool/record_facts.h"

#include <utility>

#include "base/hash.h"
#include "policies/cluster/cause_key.h"
#include "report/format/sealed.h"
#include "report/format/trace_record.h"
#include "report/spool/record_priority.h"

namespace lagwatch::report {
namespace {

// Of the stack that the collector clusters by.
uint64_t CauseOf(const Report& report) {
  if (report.cause != 0) return report.cause;
  if (report.expensive_stack >= report.stacks.size()) return 0;
  policies::CauseKey key;
  for (const Frame& frame : report.stacks[report.expensive_stack].frames) {
    if (key.is_complete()) break;
    if (frame.module == kNoModule) {
      key.AddOutsideModules();
    } else {
      const Module& module = report.modules[frame.module];
      key.Add(module.path, module.build_id, frame.symbol_offset());
    }
  }
  return key.value();
}

RecordFacts FactsOfReport(const Report& report) {
  return {.has_origin = true,
          .origin = {report.app, report.app_version, report.user},
          .made_wall_ms = WallMsOf(report.id),
          .priority = PriorityOf(report.kind, report.level),
          .cause = CauseOf(report),
          .hang_id = report.hang_id,
          .report_id = report.id};
}

// If it ended in a hang, it belongs to the day of that hang's reports.
RecordFacts FactsOfRunEnd(const RunEnd& end) {
  const bool was_in_hang = end.report_id != base::Uuid{};
  const bool was_killed = was_in_hang && end.reason == policies::ExitReason::kKilledInHang;
  return {.has_origin = true,
          .origin = {end.app, end.app_version, end.user},
          .made_wall_ms = WallMsOf(was_in_hang ? end.report_id : end.session_id),
          .report_id = was_killed ? end.report_id : base::Uuid{}};
}

template <typename Other>
RecordFacts FactsOfOther(const Other& other) {
  return {.has_origin = true,
          .origin = {other.app, other.app_version, other.user},
          .made_wall_ms = WallMsOf(other.id)};
}

// It belongs to the day of its report.
RecordFacts FactsOfTrace(const TraceRecord& trace) {
  const bool has_report = trace.report_id != base::Uuid{};
  return {.has_origin = true,
          .origin = {trace.app, trace.app_version, trace.user},
          .made_wall_ms = WallMsOf(has_report ? trace.report_id : trace.id),
          .priority = policies::ReportPriority::kTrace,
          .cause = trace.cause,
          .report_id = trace.report_id};
}

// The unencrypted part.
RecordFacts FactsOfSealed(const SealedLabel& label) {
  RecordFacts facts{.type = label.type,
                    .is_sealed = true,
                    .has_origin = true,
                    .made_wall_ms = WallMsOf(label.id),
                    .priority = label.KnownPriority(),
                    .cause = label.cause};
  switch (label.type) {
    case RecordType::kReport:
      facts.hang_id = facts.report_id = label.id;
      break;
    case RecordType::kTrace:
      facts.report_id = label.id;
      break;
    case RecordType::kHangEnd:
      return {.type = label.type, .is_sealed = true, .report_id = label.id};
    case RecordType::kRunEnd:
      if (facts.priority == policies::ReportPriority::kKilledInHang) facts.report_id = label.id;
      break;
    default:
      break;
  }
  return facts;
}

RecordFacts FactsOfLosses(Losses losses) {
  RecordFacts facts{.origin = {losses.app, losses.app_version, losses.user}};
  facts.losses = std::make_shared<const Losses>(std::move(losses));
  return facts;
}

RecordFacts DecodedFactsOf(Record record, std::unique_ptr<const Report>* report) {
  switch (record.type) {
    case RecordType::kReport:
      if (auto decoded = DecodeReportStacks(record.payload); decoded.ok()) {
        RecordFacts facts = FactsOfReport(*decoded);
        if (report != nullptr) *report = std::make_unique<const Report>(std::move(*decoded));
        return facts;
      }
      break;
    case RecordType::kHangEnd:
      if (auto end = DecodeHangEnd(record.payload); end.ok()) return {.report_id = end->report_id};
      break;
    case RecordType::kRunEnd:
      if (auto end = DecodeRunEnd(record.payload); end.ok()) return FactsOfRunEnd(*end);
      break;
    case RecordType::kFrameSlice:
      if (auto slice = DecodeFrameSlice(record.payload); slice.ok()) return FactsOfOther(*slice);
      break;
    case RecordType::kUsage:
      if (auto usage = DecodeUsage(record.payload); usage.ok()) return FactsOfOther(*usage);
      break;
    case RecordType::kTrace:
      if (auto trace = DecodeTraceRecord(record.payload); trace.ok()) return FactsOfTrace(*trace);
      break;
    case RecordType::kLosses:
      if (auto losses = DecodeLosses(record.payload); losses.ok()) return FactsOfLosses(std::move(*losses));
      break;
    case RecordType::kSealed:
      if (auto sealed = DecodeSealed(record.payload); sealed.ok()) return FactsOfSealed(sealed->label);
      break;
    default:
      break;
  }
  return {};
}

}  // namespace

int64_t WallMsOf(const base::Uuid& id) {
  int64_t wall_ms = 0;
  for (size_t i = 0; i < 6; ++i) wall_ms = wall_ms << 8 | id.bytes[i];
  return wall_ms;
}

RecordFacts FactsOf(Record record, std::unique_ptr<const Report>* report) {
  RecordFacts facts = DecodedFactsOf(record, report);
  if (facts.type == RecordType{}) facts.type = record.type;
  facts.key = base::HashBytes(record.payload, base::HashWord(Number(record.type), base::kFnvOffsetBasis));
  facts.size_bytes = record.payload.size();
  return facts;
}

SegmentFacts FactsOf(const Segment& segment) {
  SegmentFacts facts{.records = {}, .skipped_bytes = segment.skipped_bytes};
  for (const OwnedRecord& record : segment.records) facts.records.push_back(FactsOf(record));
  return facts;
}

policies::ReportPriority PriorityOf(const RecordFacts& facts) {
  switch (facts.type) {
    case RecordType::kLosses:
      return policies::ReportPriority::kKilledInHang;
    case RecordType::kRunEnd:
      return facts.report_id != base::Uuid{} ? policies::ReportPriority::kKilledInHang
                                             : policies::ReportPriority::kHang;
    case RecordType::kHangEnd:
      return policies::ReportPriority::kHang;
    default:
      return facts.priority;
  }
}

}  // namespace lagwatch::report
