// SPDX-License-Identifier: Apache-2.0
#include "report/format/trace_record.h"

#include "report/format/field_codec.h"

namespace lagwatch::report {

std::string EncodeTraceRecord(const TraceRecord& record) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  WriteFields(kTraceRecordTable, record, &writer);
  return bytes;
}

base::Result<TraceRecord> DecodeTraceRecord(std::string_view bytes) {
  return Guarded("the trace record", [&] {
    TraceRecord record;
    ReadFields(kTraceRecordTable, protozero::pbf_message<TraceRecordField>(bytes.data(), bytes.size()),
               &record);
    if (record.id == base::Uuid{}) throw SchemaError{"it has no id"};
    if (record.trace.empty()) throw SchemaError{"it has no trace"};
    return record;
  });
}

}  // namespace lagwatch::report
