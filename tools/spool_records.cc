// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/process/env.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "report/upload/ledger_file.h"
#include "report/upload/name_frames.h"
#include "sdk/run/exit_analysis.h"
#include "sdk/run/run_end.h"
#include "sdk/run/run_facts.h"
#include "sdk/upload_service.h"
#include "tools/commands.h"

namespace lagwatch::tools {

namespace {

// One look at the directory. kNotFound with an empty message: a segment changed its name or
// was sent meanwhile.
base::Result<std::string> TryLoad(const report::SpoolReader& reader, report::FrameNamer* namer) {
  auto names = LAGWATCH_TRY(reader.List(report::SpoolReader::Include::kLiveToo));
  std::string batch;
  size_t sealed = 0;
  for (const std::string& name : names) {
    auto segment = reader.Read(name);
    if (segment.status().code() == base::StatusCode::kNotFound)
      return base::Status(base::StatusCode::kNotFound, "");
    if (!segment.ok()) return segment.status();
    for (const report::OwnedRecord& record : segment->records) {
      if (record.type == report::RecordType::kSealed) {
        ++sealed;
        continue;
      }
      report::OwnedRecord named = record;
      if (record.type == report::RecordType::kReport) {
        if (const auto decoded = report::DecodeReportStacks(record.payload); decoded.ok())
          report::NameFrames(*decoded, namer, &named.payload);
      }
      report::AppendToBatch(named, &batch);
    }
  }
  if (sealed > 0)
    std::fprintf(stderr, "lagwatch: %zu sealed records: only the collector can read them\n", sealed);
  return batch;
}

// The counted losses that were not sent to a collector yet.
void AppendLosses(const std::string& spool_directory, std::string* batch) {
  const std::string path = (spool_directory + "/").append(report::kLedgerName);
  std::string text;
  const int error = base::SystemEnv().ReadAll(path, &text);
  if (error == ENOENT) return;
  const auto ledger = report::UploadLedger::Parse(text);
  if (error != 0 || !ledger.ok()) {
    std::fprintf(stderr, "lagwatch: cannot read %s: losses are left out\n", path.c_str());
    return;
  }
  for (const auto* list : {&ledger->losses, &ledger->frozen}) {
    for (const report::Losses& losses : *list)
      report::AppendToBatch({report::RecordType::kLosses, report::EncodeLosses(losses)}, batch);
  }
}

// The last words of programs that have ended since, which their next start would write: usage that was not
// reported any more, the ends of their hangs, and crashes.
void AppendEndedRuns(const std::string& spool_directory, std::string* batch) {
  sdk::NoteKeptCrashes(spool_directory);
  sdk::VisitEndedRuns(spool_directory, sdk::SystemRunFacts(), [&](const sdk::EndedRun& run) {
    if (run.record.run.is_masked) return;  // only the collector can read it
    if (std::string usage = run.EncodeUsage(); !usage.empty())
      report::AppendToBatch({report::RecordType::kUsage, std::move(usage)}, batch);
    if (std::string end = run.EncodeHangEnd(); !end.empty())
      report::AppendToBatch({report::RecordType::kHangEnd, std::move(end)}, batch);
    if (run.record.crash_signal != 0)
      report::AppendToBatch({report::RecordType::kRunEnd, report::EncodeRunEnd(run.ToRunEnd())}, batch);
  });
}

}  // namespace

base::Result<std::string> LoadSpoolRecords(const std::string& spool_directory) {
  constexpr int kTries = 10;
  report::SpoolReader reader(&base::SystemEnv(), spool_directory);
  const auto namer = sdk::CreateLocalFrameNamer(spool_directory);
  for (int i = 0; i < kTries; ++i) {
    auto batch = TryLoad(reader, namer.get());
    bool has_changed =
        batch.status().code() == base::StatusCode::kNotFound && batch.status().message().empty();
    if (has_changed) continue;
    if (batch.ok()) {
      AppendLosses(spool_directory, &*batch);
      AppendEndedRuns(spool_directory, &*batch);
    }
    return batch;
  }
  return base::Status(base::StatusCode::kUnavailable, spool_directory + " keeps changing: try again");
}

}  // namespace lagwatch::tools
