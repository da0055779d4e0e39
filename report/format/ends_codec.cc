// SPDX-License-Identifier: Apache-2.0
#include "report/format/field_codec.h"
#include "report/format/report.h"

namespace lagwatch::report {

using protozero::pbf_message;

base::Result<HangEnd> DecodeHangEnd(std::string_view bytes) {
  return Guarded("the hang's end", [&] {
    HangEnd end;
    ReadFields(kHangEndTable, pbf_message<HangEndField>(bytes.data(), bytes.size()), &end);
    if (end.report_id == base::Uuid{}) throw SchemaError{"it names no report"};
    return end;
  });
}

base::Result<RunEnd> DecodeRunEnd(std::string_view bytes) {
  return Guarded("the run's end", [&] {
    RunEnd end;
    ReadFields(kRunEndTable, pbf_message<RunEndField>(bytes.data(), bytes.size()), &end);
    if (end.session_id == base::Uuid{}) throw SchemaError{"it names no session"};
    return end;
  });
}

std::string EncodeRunEnd(const RunEnd& end) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  WriteFields(kRunEndTable, end, &writer);
  return bytes;
}

}  // namespace lagwatch::report
