// SPDX-License-Identifier: Apache-2.0
#include "tools/spool_records.h"

#include "base/env.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "report/upload/name_frames.h"
#include "sdk/upload_service.h"

namespace lagwatch::tools {

base::Result<std::string> LoadSpoolRecords(const std::string& spool_directory) {
  report::SpoolReader reader(&base::SystemEnv(), spool_directory);
  auto names = reader.List(report::SpoolReader::Include::kLiveToo);
  if (!names.ok()) return names.status();
  auto namer = sdk::CreateLocalFrameNamer();
  std::string batch;
  for (const std::string& name : *names) {
    auto segment = reader.Read(name);
    if (!segment.ok()) {
      if (segment.status().code() == base::StatusCode::kNotFound) continue;  // it was sent meanwhile
      return segment.status();
    }
    for (const report::SpoolRecord& record : segment->records) {
      bool is_report = record.type == report::RecordType::kReport;
      std::string named = is_report ? report::NameFrames(record.payload, namer.get()) : record.payload;
      report::AppendToBatch({record.type, named}, &batch);
    }
  }
  return batch;
}

}  // namespace lagwatch::tools
