// SPDX-License-Identifier: Apache-2.0
// The public interface of the shared library, as a program uses it, and what that leaves in the spool. Each
// test runs in a process of its own (ctest starts one for each), because there is one monitor in a process.
#pragma once

#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/env.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {

// Runs `body` in a forked child; its result is the child's exit code.
inline int InForkedChild(const std::function<int()>& body) {
  pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Waits until the code's unwind tables are there: before, some stacks are not whole. Their thread has then
// used no processor for a while; sanitizers and a busy machine make it slow.
inline void WaitForUnwindTables() {
  const auto used_ns = [] {
    int64_t sum_ns = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(thread.path() / "comm"), name);
      if (name == "lagwatch-tables") sum_ns += base::ThreadCpuNs(std::stoi(thread.path().filename()));
    }
    return sum_ns;
  };
  constexpr int kQuietLooks = 10;  // a second
  int64_t last_ns = -1;
  for (int quiet_looks = 0; quiet_looks < kQuietLooks; ++quiet_looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const int64_t now_ns = used_ns();
    if (now_ns != last_ns) quiet_looks = 0;
    last_ns = now_ns;
  }
}

class SdkTest : public ::testing::Test {
 protected:
  Options TestOptions() const {
    return {.app = "sdk-test",
            .app_version = "1.2.3",
            .user = "u-1",
            .spool_directory = directory_ / "spool",
            .threshold_ms = 100,
            .detection = {.check_period_ms = 50, .sample_interval_ms = 10}};
  }

  std::vector<report::OwnedRecord> ReadSpool() const {
    for (;;) {
      if (auto records = TryReadSpool()) return *std::move(records);
    }
  }
  // None when a segment was sealed, and has another name, since it was listed.
  std::optional<std::vector<report::OwnedRecord>> TryReadSpool() const {
    report::SpoolReader reader(&base::SystemEnv(), directory_ / "spool");
    std::vector<report::OwnedRecord> records;
    auto names = reader.List(report::SpoolReader::Include::kLiveToo);
    if (!names.ok()) return records;
    for (const std::string& name : *names) {
      auto segment = reader.Read(name);
      if (!segment.ok()) return std::nullopt;
      EXPECT_EQ(segment->skipped_bytes, 0u);
      for (report::OwnedRecord& record : segment->records) records.push_back(std::move(record));
    }
    return records;
  }
  std::vector<report::Report> Reports() const {
    std::vector<report::Report> reports;
    for (const report::OwnedRecord& record : ReadSpool()) {
      if (record.type != report::RecordType::kReport) continue;
      auto decoded = report::DecodeReport(record.payload);
      EXPECT_TRUE(decoded.ok()) << decoded.status().message();
      if (decoded.ok()) reports.push_back(std::move(decoded).value());
    }
    return reports;
  }
  std::vector<report::HangEnd> Ends() const {
    std::vector<report::HangEnd> ends;
    for (const report::OwnedRecord& record : ReadSpool()) {
      if (record.type == report::RecordType::kHangEnd)
        ends.push_back(report::DecodeHangEnd(record.payload).value());
    }
    return ends;
  }
  static std::string TextFactOf(const report::Report& report, const std::string& name) {
    for (const report::Fact& fact : report.facts) {
      if (fact.name == name) return fact.text;
    }
    return "";
  }
  // -1 when there is none.
  static int64_t FactOf(const report::Report& report, const std::string& name) {
    for (const report::Fact& fact : report.facts) {
      if (fact.name == name) return fact.number;
    }
    return -1;
  }
  std::vector<report::Usage> Usages() const {
    std::vector<report::Usage> usages;
    for (const report::OwnedRecord& record : ReadSpool()) {
      if (record.type == report::RecordType::kUsage)
        usages.push_back(report::DecodeUsage(record.payload).value());
    }
    return usages;
  }
  // One dispatch that spins until its report is on disk.
  void FreezeUntilReported(Loop loop, const char* tag) {
    size_t before = Reports().size();
    ScopedDispatch dispatch(loop, tag);
    testing::StopFlag stop{false};
    std::thread judge([&] {
      EXPECT_TRUE(testing::WaitUntil([&] { return Reports().size() > before; }));
      stop = true;
    });
    testing::Spin(stop);
    judge.join();
  }

  testing::ScopedTempDirectory directory_;
};

}  // namespace lagwatch
