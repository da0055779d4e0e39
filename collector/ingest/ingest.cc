// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/ingest.h"

#include "collector/ingest/report_limits.h"

namespace lagwatch::collector {
namespace {

base::Result<report::Report> ReadReport(std::string_view payload) {
  auto report = report::DecodeReport(payload);
  if (!report.ok()) return report;
  if (base::Status limits = CheckLimits(*report); !limits.ok()) return limits;
  return report;
}

base::Result<report::RunEnd> ReadRunEnd(std::string_view payload) {
  auto end = report::DecodeRunEnd(payload);
  if (!end.ok()) return end;
  if (base::Status limits = CheckLimits(*end); !limits.ok()) return limits;
  return end;
}

base::Result<report::FrameSlice> ReadFrameSlice(std::string_view payload) {
  auto slice = report::DecodeFrameSlice(payload);
  if (!slice.ok()) return slice;
  if (base::Status limits = CheckLimits(*slice); !limits.ok()) return limits;
  return slice;
}

base::Result<report::Usage> ReadUsage(std::string_view payload) {
  auto usage = report::DecodeUsage(payload);
  if (!usage.ok()) return usage;
  if (base::Status limits = CheckLimits(*usage); !limits.ok()) return limits;
  return usage;
}

base::Result<report::Losses> ReadLosses(std::string_view payload) {
  auto losses = report::DecodeLosses(payload);
  if (!losses.ok()) return losses;
  if (base::Status limits = CheckLimits(*losses); !limits.ok()) return limits;
  return losses;
}

}  // namespace

base::Result<IngestResult> Ingest::Submit(std::string_view batch) {
  auto records = report::SplitBatch(batch);
  if (!records.ok()) return records.status();

  IngestResult result;
  std::vector<NewReport> reports;
  std::vector<report::LagEnd> ends;
  std::vector<report::RunEnd> run_ends;
  std::vector<report::FrameSlice> frame_slices;
  std::vector<NewUsage> usages;
  std::vector<report::Losses> losses;
  for (const report::Record& record : *records) {
    if (record.type == report::RecordType::kReport) {
      auto report = ReadReport(record.payload);
      if (report.ok()) {
        ClusterPath clusters = clusterer_.Assign(*report);
        reports.push_back({std::move(*report), std::move(clusters), record.payload});
      } else {
        result.rejections.push_back(report.status().message());
      }
    } else if (record.type == report::RecordType::kRunEnd) {
      auto end = ReadRunEnd(record.payload);
      if (end.ok()) {
        run_ends.push_back(std::move(*end));
      } else {
        result.rejections.push_back(end.status().message());
      }
    } else if (record.type == report::RecordType::kFrameSlice) {
      auto slice = ReadFrameSlice(record.payload);
      if (slice.ok()) {
        frame_slices.push_back(std::move(*slice));
      } else {
        result.rejections.push_back(slice.status().message());
      }
    } else if (record.type == report::RecordType::kUsage) {
      auto usage = ReadUsage(record.payload);
      if (usage.ok()) {
        usages.push_back({std::move(*usage), record.payload});
      } else {
        result.rejections.push_back(usage.status().message());
      }
    } else if (record.type == report::RecordType::kLosses) {
      auto lost = ReadLosses(record.payload);
      if (lost.ok()) {
        losses.push_back(std::move(*lost));
      } else {
        result.rejections.push_back(lost.status().message());
      }
    } else if (record.type == report::RecordType::kLagEnd) {
      auto end = report::DecodeLagEnd(record.payload);
      if (end.ok()) {
        ends.push_back(*end);
      } else {
        result.rejections.push_back(end.status().message());
      }
    }
  }
  bool has_valid = !reports.empty() || !ends.empty() || !run_ends.empty() || !frame_slices.empty() ||
                   !usages.empty() || !losses.empty();
  if (!has_valid && !result.rejections.empty()) {
    return base::Status(base::StatusCode::kInvalid,
                        "no record of the batch is valid; the first: " + result.rejections.front());
  }
  auto counts = store_->Commit(reports, ends, run_ends, frame_slices, usages, losses);
  if (!counts.ok()) return counts.status();
  result.accepted = counts->accepted;
  result.duplicates = counts->duplicates;
  return result;
}

}  // namespace lagwatch::collector
