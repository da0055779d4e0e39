// SPDX-License-Identifier: Apache-2.0
// The small records, usage, and losses.
#include "report/format/field_codec.h"
#include "report/format/losses.h"
#include "report/format/report.h"
#include "report/format/trace_record.h"

namespace lagwatch::report {
namespace {

void RequireId(const base::Uuid& id, const char* error) {
  if (id == base::Uuid{}) throw SchemaError{error};
}

}  // namespace

base::Result<HangEnd> DecodeHangEnd(std::string_view bytes) {
  return Guarded("the hang's end", [&] {
    const auto end = ReadRecord<HangEnd>(kHangEndTable, bytes);
    RequireId(end.report_id, "it names no report");
    return end;
  });
}

base::Result<RunEnd> DecodeRunEnd(std::string_view bytes) {
  return Guarded("the run's end", [&] {
    auto end = ReadRecord<RunEnd>(kRunEndTable, bytes);
    RequireId(end.session_id, "it names no session");
    return end;
  });
}

std::string EncodeRunEnd(const RunEnd& end) { return WriteRecord(kRunEndTable, end); }

base::Result<FrameSlice> DecodeFrameSlice(std::string_view bytes) {
  return Guarded("the frames' record", [&] {
    auto slice = ReadRecord<FrameSlice>(kFrameSliceTable, bytes);
    RequireId(slice.id, "it has no id");
    return slice;
  });
}

std::string EncodeTraceRecord(const TraceRecord& record) { return WriteRecord(kTraceRecordTable, record); }

base::Result<TraceRecord> DecodeTraceRecord(std::string_view bytes) {
  return Guarded("the trace record", [&] {
    auto record = ReadRecord<TraceRecord>(kTraceRecordTable, bytes);
    RequireId(record.id, "it has no id");
    if (record.trace.empty()) throw SchemaError{"it has no trace"};
    return record;
  });
}

base::Result<Usage> DecodeUsage(std::string_view bytes) {
  return Guarded("the usage", [&] {
    auto usage = ReadRecord<Usage>(kUsageTable, bytes);
    RequireId(usage.id, "it has no id");
    return usage;
  });
}

std::string EncodeLosses(const Losses& losses) { return WriteRecord(kLossesTable, losses); }

base::Result<Losses> DecodeLosses(std::string_view bytes) {
  return Guarded("the record of losses", [&] {
    auto losses = ReadRecord<Losses>(kLossesTable, bytes);
    RequireId(losses.id, "it has no id");
    return losses;
  });
}

std::string_view LossReasonName(LossReason reason) {
  switch (reason) {
#define LOSS_REASON(number, enumerator, name, ...) \
  case LossReason::enumerator:                     \
    return name;
#include "policies/report_enums.def"
  }
  return "unknown";
}

}  // namespace lagwatch::report
