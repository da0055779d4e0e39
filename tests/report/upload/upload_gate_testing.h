// SPDX-License-Identifier: Apache-2.0
// The upload gate between a real spool and a collector of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "report/upload/upload_gate.h"
#include "tests/report/upload/upload_testing.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::report {

// The gate as it stands between a real spool and a collector.
class UploadGateTest : public ::testing::Test {
 protected:
  // As a new process each time.
  void Send() {
    SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
    sender.SetPolicies([this] { return policies_; });
    for (auto answer = sender.UploadOnce(); answer && answer->kind == UploadAnswer::Kind::kDelivered;)
      answer = sender.UploadOnce();
    const LossCounts counted = sender.stats().losses;
    for (size_t i = 0; i < counted.size(); ++i) counted_[i] += counted[i];
  }
  void Add(int count, const lagwatch::testing::SmallReport& like) {
    std::vector<OwnedRecord> records;
    for (int i = 0; i < count; ++i) {
      lagwatch::testing::SmallReport report = like;
      report.id = lagwatch::testing::NewId();
      if (like.function_offset == 0) report.function_offset = next_cause_++;
      records.push_back(lagwatch::testing::ReportRecord(report));
    }
    spool_.Add(records);
  }
  // Segments of one program, with the same report each.
  void AddMany(size_t count) {
    Add(1, {});
    const std::string first = spool_.Files(".seg").at(0);
    const std::string session = first.substr(0, first.rfind('-') + 1);
    for (size_t i = 1; i < count; ++i)
      std::filesystem::copy_file(spool_ / first, spool_ / (session + std::to_string(i) + ".seg"));
  }
  size_t TagsStored(const std::string& tag) const {
    return static_cast<size_t>(std::ranges::count_if(
        collector_.reports, [&](const auto& report) { return report.second.tag == tag; }));
  }
  uint64_t Counted(LossReason reason) const { return counted_[static_cast<size_t>(reason)]; }

  lagwatch::testing::ScopedSpool spool_;
  lagwatch::testing::SetClock clock_;
  lagwatch::testing::NoNames namer_;
  lagwatch::testing::ModelCollector collector_;
  UploadPolicies policies_{.losses_wait_ms = 0};
  LossCounts counted_{};
  uint64_t next_cause_ = 0x2000;
};

}  // namespace lagwatch::report
