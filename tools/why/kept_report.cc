// SPDX-License-Identifier: Apache-2.0
#include "tools/why/kept_report.h"

#include "base/clock.h"
#include "base/process/env.h"
#include "report/spool/spool_writer.h"
#include "sdk/upload_service.h"
#include "tools/temporary_directory.h"

namespace lagwatch::tools {

base::Status SaveReport(const sdk::ProcessMoment& moment, const std::string& spool_directory) {
  // Its segment is one of a run of its own.
  auto writer =
      LAGWATCH_TRY(report::SpoolWriter::Create(&base::SystemEnv(), spool_directory, moment.report_id, {}));
  if (!writer->Append(report::RecordType::kReport, moment.report))
    return {base::StatusCode::kIo, "the report cannot be written to " + spool_directory};
  writer->Seal();
  return {};
}

base::Status SendReport(const sdk::ProcessMoment& moment, const std::string& endpoint,
                        const std::string& key) {
  constexpr int64_t kTimeoutNs = 10 * base::kNsPerSecond;
  const TemporaryDirectory directory("lagwatch-why");
  if (directory.path().empty()) return {base::StatusCode::kIo, "there is no room for a temporary file"};
  if (base::Status saved = SaveReport(moment, directory.path()); !saved.ok()) return saved;
  sdk::UploadServiceOptions options;
  options.http.endpoint = endpoint;
  options.http.key = key;
  options.policies = {.losses_wait_ms = 0};
  options.policies.sampling.rate_ppm = policies::UserSampling::kAllPpm;
  const auto service = LAGWATCH_TRY(sdk::UploadService::Create(directory.path(), std::move(options)));
  report::SpoolSender* sender = service->sender();
  const size_t left = report::DrainSpool(sender, base::SystemClock().MonoNs() + kTimeoutNs);
  const report::UploadStats stats = sender->stats();
  if (left > 0) return {base::StatusCode::kUnavailable, "the report was not sent: " + stats.last_problem};
  if (stats.records_rejected > 0)
    return {base::StatusCode::kUnavailable, "the collector refused the report: " + stats.last_problem};
  return {};
}

}  // namespace lagwatch::tools
