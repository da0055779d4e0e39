// SPDX-License-Identifier: Apache-2.0
// A collector in memory that stores each record once, as a real one does, and whose answers a test may lose.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/format/losses.h"
#include "report/format/report.h"
#include "report/format/sealed.h"
#include "report/upload/transport/transport.h"
#include "tests/report/report_testing.h"
#include "tests/report/upload/scripted_transport.h"

namespace lagwatch::testing {

class ModelCollector final : public report::Transport {
 public:
  report::UploadAnswer Post(std::string_view gzip_body) override {
    ++posts;
    if (on_post) on_post();
    if (!is_there) return {.message = "nobody there"};
    const std::string batch = Gunzip(gzip_body);
    report::UploadAnswer answer{.kind = report::UploadAnswer::Kind::kDelivered, .http_status = 200};
    size_t index = 0;
    const auto records = report::ReadBatch(batch);
    for (const report::OwnedRecord& record : *records) Take(record, index++, &answer);
    answer.answered_records = index;
    if (on_stored) on_stored();
    if (loses_answers) return {.message = "the answer was lost"};
    return answer;
  }
  void Abort() override {}

  uint64_t LossesTold(report::LossReason reason) const {
    uint64_t count = 0;
    for (const auto& [id, told] : losses) {
      for (const report::Loss& loss : told.losses) count += loss.reason == reason ? loss.count : 0;
    }
    return count;
  }
  uint64_t LossesTold() const {
    uint64_t count = 0;
    for (int32_t reason = 0; reason <= report::kLastLossReason; ++reason)
      count += LossesTold(static_cast<report::LossReason>(reason));
    return count;
  }

  bool is_there = true;
  bool loses_answers = false;
  std::set<std::string> refused_tags;
  std::function<void()> on_post;
  std::function<void()> on_stored;
  int posts = 0;
  std::map<std::string, report::Report> reports;  // by id
  std::map<std::string, report::Losses> losses;   // by id
  std::vector<report::HangEnd> ends;
  std::vector<report::SealedLabel> sealed;  // it has no key
  uint32_t sealed_rate_ppm = 0;             // of the last
  std::vector<report::TraceRecord> traces;
  size_t other_records = 0;

 private:
  void Take(const report::OwnedRecord& record, size_t index, report::UploadAnswer* answer) {
    if (record.type == report::RecordType::kReport) {
      auto report = report::DecodeReport(record.payload);
      if (!report.ok() || refused_tags.contains(report->tag)) {
        answer->refusals.push_back({index, "as scripted"});
      } else {
        reports.emplace(base::ToString(report->id), *report);
      }
    } else if (record.type == report::RecordType::kLosses) {
      auto told = report::DecodeLosses(record.payload);
      losses.emplace(base::ToString(told->id), *told);
    } else if (record.type == report::RecordType::kHangEnd) {
      ends.push_back(*report::DecodeHangEnd(record.payload));
    } else if (record.type == report::RecordType::kSealed) {
      sealed.push_back(report::DecodeSealed(record.payload)->label);
      sealed_rate_ppm = report::DecodeSealed(record.payload)->sample_rate_ppm;
    } else if (record.type == report::RecordType::kTrace) {
      traces.push_back(*report::DecodeTraceRecord(record.payload));
    } else {
      ++other_records;
    }
  }
};

struct SmallReport {
  base::Uuid id = {};
  std::string user = "u-71";
  std::string tag = {};
  report::HangKind kind = report::HangKind::kHang;
  report::HangLevel level = report::HangLevel::kHang;
  uint64_t function_offset = 0x1000;
  base::Uuid hang_id = {};  // zero: its own
};

inline std::string Encode(const SmallReport& small) {
  std::vector<char> bytes(1 << 12);
  report::FixedBuffer buffer(bytes.data(), bytes.size());
  report::ReportEncoder encoder(&buffer);
  encoder.SetHeader({.id = small.id,
                     .session_id = IdOf("session-01234567"),
                     .hang_id = small.hang_id == base::Uuid{} ? small.id : small.hang_id,
                     .app = "editor",
                     .app_version = "2.3.1",
                     .user = small.user,
                     .os = "Linux 6.1",
                     .machine = "x86_64",
                     .loop = "ui",
                     .tag = small.tag,
                     .kind = small.kind,
                     .level = small.level,
                     .threshold_ms = 2000});
  const report::Frame frames[] = {{encoder.AddModule("/opt/editor", "build-one", 0x400000),
                                   small.function_offset + 4, small.function_offset}};
  encoder.SetExpensiveStack(encoder.AddStack(frames, report::Completeness::kComplete));
  if (!encoder.ok()) throw std::runtime_error("the buffer is too small");
  return std::string(buffer.content());
}

inline std::string EncodeHangEndOf(const base::Uuid& report_id) {
  char bytes[64];
  report::FixedBuffer buffer(bytes, sizeof bytes);
  report::EncodeHangEnd(report_id, 7'000'000'000, &buffer);
  return std::string(buffer.content());
}

}  // namespace lagwatch::testing
