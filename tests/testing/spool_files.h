// SPDX-License-Identifier: Apache-2.0
// Reads the files that a program in a test has left in its spool directory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/process/env.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"

namespace lagwatch::testing {

inline std::vector<report::Report> ReportsIn(const std::string& spool_directory) {
  const report::SpoolReader reader(&base::SystemEnv(), spool_directory);
  std::vector<report::Report> reports;
  auto names = reader.List(report::SpoolReader::Include::kLiveToo);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    auto segment = reader.Read(name);
    if (!segment.ok()) continue;
    for (const report::OwnedRecord& record : segment->records) {
      if (record.type != report::RecordType::kReport) continue;
      if (auto decoded = report::DecodeReport(record.payload); decoded.ok())
        reports.push_back(std::move(decoded).value());
    }
  }
  return reports;
}

}  // namespace lagwatch::testing
