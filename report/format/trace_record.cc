// SPDX-License-Identifier: Apache-2.0
#include "report/format/trace_record.h"

#include "report/format/fields.h"
#include "report/format/guarded_read.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

bool TryReadId(pbf_message<TraceRecordField>* message, TraceRecord* record) {
  switch (message->tag()) {
    case TraceRecordField::kId:
      record->id = ReadUuid(message);
      return true;
    case TraceRecordField::kSessionId:
      record->session_id = ReadUuid(message);
      return true;
    case TraceRecordField::kReportId:
      record->report_id = ReadUuid(message);
      return true;
    case TraceRecordField::kLagId:
      record->lag_id = ReadUuid(message);
      return true;
    default:
      return false;
  }
}

void ReadOther(pbf_message<TraceRecordField>* message, TraceRecord* record) {
  switch (message->tag()) {
    case TraceRecordField::kApp:
      record->app = message->get_string();
      break;
    case TraceRecordField::kAppVersion:
      record->app_version = message->get_string();
      break;
    case TraceRecordField::kUser:
      record->user = message->get_string();
      break;
    case TraceRecordField::kBeginWallMs:
      record->begin_wall_ms = message->get_uint64();
      break;
    case TraceRecordField::kDurationNs:
      record->duration_ns = message->get_uint64();
      break;
    case TraceRecordField::kReason:
      record->reason = message->get_string();
      break;
    case TraceRecordField::kTrace:
      record->trace = message->get_string();
      break;
    case TraceRecordField::kSampleRatePpm:
      record->sample_rate_ppm = message->get_uint32();
      break;
    case TraceRecordField::kCause:
      record->cause = message->get_fixed64();
      break;
    default:
      message->skip();
  }
}

TraceRecord ReadTraceRecord(pbf_message<TraceRecordField> message) {
  TraceRecord record;
  while (message.next())
    if (!TryReadId(&message, &record)) ReadOther(&message, &record);
  if (record.id == base::Uuid{}) throw SchemaError{"it has no id"};
  if (record.trace.empty()) throw SchemaError{"it has no trace"};
  return record;
}

}  // namespace

std::string EncodeTraceRecord(const TraceRecord& record) {
  std::string bytes;
  protozero::basic_pbf_writer<std::string> writer(bytes);
  auto put_text = [&](TraceRecordField field, std::string_view text) {
    if (!text.empty()) writer.add_bytes(Number(field), text.data(), text.size());
  };
  auto put_id = [&](TraceRecordField field, const base::Uuid& id) {
    if (id != base::Uuid{}) put_text(field, id.as_bytes());
  };
  auto put_number = [&](TraceRecordField field, uint64_t number) {
    if (number != 0) writer.add_uint64(Number(field), number);
  };
  put_id(TraceRecordField::kId, record.id);
  put_id(TraceRecordField::kSessionId, record.session_id);
  put_id(TraceRecordField::kReportId, record.report_id);
  put_id(TraceRecordField::kLagId, record.lag_id);
  put_text(TraceRecordField::kApp, record.app);
  put_text(TraceRecordField::kAppVersion, record.app_version);
  put_text(TraceRecordField::kUser, record.user);
  put_number(TraceRecordField::kBeginWallMs, record.begin_wall_ms);
  put_number(TraceRecordField::kDurationNs, record.duration_ns);
  put_text(TraceRecordField::kReason, record.reason);
  put_text(TraceRecordField::kTrace, record.trace);
  put_number(TraceRecordField::kSampleRatePpm, record.sample_rate_ppm);
  if (record.cause != 0) writer.add_fixed64(Number(TraceRecordField::kCause), record.cause);
  return bytes;
}

base::Result<TraceRecord> DecodeTraceRecord(std::string_view bytes) {
  return Guarded("the trace record",
                 [&] { return ReadTraceRecord(pbf_message<TraceRecordField>(bytes.data(), bytes.size())); });
}

}  // namespace lagwatch::report
