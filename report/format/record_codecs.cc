// SPDX-License-Identifier: Apache-2.0
// The small records, usage, and losses.
#include "report/format/field_codec.h"
#include "report/format/losses.h"
#include "report/format/report.h"
#include "report/format/trace_record.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

// A record whose fields are all in `table`.
template <typename Record, typename Table>
Record ReadRecord(const Table& table, std::string_view bytes) {
  Record record;
  ReadFields(table, protozero::pbf_reader(bytes.data(), bytes.size()), &record);
  return record;
}

template <typename Table, typename Record>
std::string WriteRecord(const Table& table, const Record& record) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  WriteFields(table, record, &writer);
  return bytes;
}

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
    Usage usage;
    pbf_message<UsageField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case UsageField::kLoops:
          ReadFields(kLoopUsageTable, message.get_message(), &usage.loops.emplace_back());
          break;
        case UsageField::kSlow:
          ReadFields(kSlowTagTable, message.get_message(), &usage.slow.emplace_back());
          break;
        case UsageField::kSuppressed:
          ReadFields(kSuppressedTable, message.get_message(), &usage.suppressed.emplace_back());
          break;
        default:
          if (!TryReadField(kUsageHeaderTable, &message, &usage)) message.skip();
      }
    }
    RequireId(usage.id, "it has no id");
    return usage;
  });
}

std::string EncodeLosses(const Losses& losses) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  WriteFields(kLossesTable, losses, &writer);
  for (const Loss& loss : losses.losses) {
    protozero::pbf_writer item(writer, Number(LossesField::kLosses));
    WriteFields(kLossTable, loss, &item);
  }
  return bytes;
}

base::Result<Losses> DecodeLosses(std::string_view bytes) {
  return Guarded("the record of losses", [&] {
    Losses losses;
    pbf_message<LossesField> message(bytes.data(), bytes.size());
    while (message.next()) {
      if (message.tag() == LossesField::kLosses) {
        ReadFields(kLossTable, message.get_message(), &losses.losses.emplace_back());
      } else if (!TryReadField(kLossesTable, &message, &losses)) {
        message.skip();
      }
    }
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
