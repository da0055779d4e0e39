// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/sample_report.h"
#include "tools/read/report_lists.h"
#include "tools/read/report_source.h"

namespace lagwatch::tools {
namespace {

Json UsageIn(const report::Usage& usage, const collector::QueryString& query = {}) {
  std::string batch;
  report::AppendToBatch({report::RecordType::kUsage, testing::EncodeUsage(usage)}, &batch);
  auto load = [&](const std::string&) -> base::Result<std::string> { return batch; };
  return OpenSpool("/no/such/directory", load).value()->Get("/v1/usage", query).value();
}

report::Usage SomeUsage() {
  base::Uuid id = base::CreateUuidV7(1'700'000'000'000);
  return {
      .id = id,
      .session_id = id,
      .app = "editor",
      .app_version = "2.3.1",
      .user = "u-71",
      .loops = {
          {"ui",
           {.watched_ns = 5'400'000'000'000, .dispatches = 12345, .hangs = 2, .hang_ns = 7'500'000'000}}}};
}

TEST(UsageText, IsATableOfVersions) {
  EXPECT_EQ(UsageText(UsageIn(SomeUsage()), 0),
            "PROGRAM  VERSION  USERS  HOURS  DISPATCHES  HANGS  HANG S  S/HOUR  MEDIAN  P90\n"
            "editor   2.3.1        1   1.50       12345      2     7.5     5.0     5.0  5.0\n");
}

TEST(UsageText, CountsHowRunsEnded) {
  const report::Usage usage = SomeUsage();
  std::string batch;
  report::AppendToBatch({report::RecordType::kUsage, testing::EncodeUsage(usage)}, &batch);
  for (const auto reason : {policies::ExitReason::kCrashInHang, policies::ExitReason::kCleanExit,
                            policies::ExitReason::kCleanExit}) {
    const report::RunEnd end{.session_id = base::CreateUuidV7(1'700'000'000'000),
                             .reason = reason,
                             .app = usage.app,
                             .app_version = usage.app_version};
    report::AppendToBatch({report::RecordType::kRunEnd, report::EncodeRunEnd(end)}, &batch);
  }
  auto load = [&](const std::string&) -> base::Result<std::string> { return batch; };
  EXPECT_THAT(UsageText(OpenSpool("/no/such/directory", load).value()->Get("/v1/usage", {}).value(), 0),
              ::testing::EndsWith("\nRuns of editor 2.3.1 ended by: 2 clean-exit, 1 crash-in-hang\n"));
}

TEST(UsageText, HasALineForEachValueOfAKey) {
  report::Usage usage = SomeUsage();
  usage.values = {{"index", "new", {.watched_ns = 3'600'000'000'000, .hangs = 2, .hang_ns = 7'500'000'000}},
                  {"index", "", {.watched_ns = 1'800'000'000'000}},
                  {"scene", "inbox", {.watched_ns = 5'400'000'000'000}}};
  collector::QueryString query;
  query.Set("by", "value");
  query.Set("key", "index");
  EXPECT_EQ(ValueTable(UsageIn(usage, query), 0),
            "PROGRAM  VALUE      USERS  HOURS  HANGS  HANG S  S/HOUR  MEDIAN  P90\n"
            "editor   new            1   1.00      2     7.5     7.5     7.5  7.5\n"
            "editor   (not set)      1   0.50      0     0.0     0.0     0.0  0.0\n");
}

TEST(UsageText, TellsForegroundAndBackgroundApart) {
  report::Usage usage = SomeUsage();
  usage.loops[0].usage.background = {.watched_ns = 3'600'000'000'000, .hangs = 1, .hang_ns = 3'000'000'000};
  EXPECT_THAT(UsageText(UsageIn(usage), 0),
              ::testing::EndsWith("\nOf editor 2.3.1 in the foreground: 0.50 h, 1 hang, 4.5 s, 9.0 s/hour; "
                                  "in the background: 1.00 h, 1 hang, 3.0 s, 3.0 s/hour\n"));
}

TEST(UsageText, TellsWhatWasSlowAndWhatWasNotReported) {
  report::Usage usage = SomeUsage();
  usage.slow = {{"ui", "open\x1b[2J", {.count = 3, .total_ns = 2'700'000'000, .longest_ns = 990'000'000}}};
  usage.suppressed = {{policies::SuppressedReason::kUnchangedStack, 12},
                      {policies::SuppressedReason::kReportLimit, 1}};
  EXPECT_THAT(UsageText(UsageIn(usage), 0),
              ::testing::EndsWith("\nSlow dispatches of editor 2.3.1\n"
                                  "LOOP  TAG       COUNT  TOTAL  LONGEST\n"
                                  "ui    open?[2J      3  2.7 s   990 ms\n"
                                  "\nNot reported of editor 2.3.1: 12 unchanged-stack, 1 report-limit\n"));
}

}  // namespace
}  // namespace lagwatch::tools
