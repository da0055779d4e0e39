// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/report_sink.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "sdk/run/run_writer.h"
#include "tests/sdk/run/run_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

using policies::SuppressedReason;

class ReportSinkUsage : public ::testing::Test {
 protected:
  ReportSinkUsage() {
    spool_ =
        report::SpoolWriter::Create(&base::SystemEnv(), directory_.path(), base::CreateUuidV7(1), {}).value();
    facts_.app = "editor";
    usage_.Of("ui")->watched_ns = base::kNsPerSecond;
    usage_.Of("ui")->dispatches = 7;
    usage_.AddSlow("ui", "open", 800 * base::kNsPerMs);
    suppressed_[static_cast<size_t>(SuppressedReason::kReportLimit)] = 3;
  }
  // One round with a usage report.
  bool Tell(ReportSink* sink, bool is_alone) {
    bool is_kept = sink->OnUsage(Event(is_alone));
    sink->OnRoundDone();
    return is_kept;
  }
  watchdog::UsageEvent Event(bool is_alone) {
    return {.id = base::CreateUuidV7(2),
            .begin_wall_ms = 1,
            .end_wall_ms = 2,
            .loops = usage_.loops(),
            .slow = usage_.slow(),
            .suppressed = suppressed_,
            .is_alone = is_alone};
  }
  std::vector<std::string> Segments() const {
    return Reader().List(report::SpoolReader::Include::kFinished).value();
  }
  report::SpoolReader Reader() const { return {&base::SystemEnv(), directory_.path()}; }

  testing::ScopedTempDirectory directory_;
  std::unique_ptr<report::SpoolWriter> spool_;
  ProgramFacts facts_;
  ProgramContext words_;
  watchdog::UsagePeriod usage_;
  policies::SuppressedCounts suppressed_{};
};

TEST_F(ReportSinkUsage, IsWrittenWithAllItsParts) {
  ReportSink sink(facts_, spool_.get(), nullptr, &words_);
  EXPECT_TRUE(Tell(&sink, true));
  ASSERT_EQ(Segments().size(), 1u);
  report::Segment segment = Reader().Read(Segments()[0]).value();
  ASSERT_EQ(segment.records.size(), 1u);
  EXPECT_EQ(segment.records[0].type, report::RecordType::kUsage);
  report::Usage usage = report::DecodeUsage(segment.records[0].payload).value();
  EXPECT_EQ(usage.app, "editor");
  ASSERT_EQ(usage.loops.size(), 1u);
  EXPECT_EQ(usage.loops[0].usage.dispatches, 7u);
  ASSERT_EQ(usage.slow.size(), 1u);
  EXPECT_EQ(usage.slow[0].tag, "open");
  ASSERT_EQ(usage.suppressed.size(), 1u);
  EXPECT_EQ(usage.suppressed[0].reason, SuppressedReason::kReportLimit);
  EXPECT_EQ(usage.suppressed[0].count, 3u);
}

TEST_F(ReportSinkUsage, MakesNoFileOfItsOwnWhereTheSpoolIsCrowded) {
  ReportSink sink(facts_, spool_.get(), nullptr, &words_, /*saves_files=*/true);
  EXPECT_FALSE(Tell(&sink, true));
  EXPECT_TRUE(Segments().empty());
  EXPECT_TRUE(Tell(&sink, false));
  EXPECT_EQ(Segments().size(), 1u);
}

TEST_F(ReportSinkUsage, MakesNoMoreFilesThanADaysAsLongAsNobodySendsThem) {
  ReportSink sink(facts_, spool_.get(), nullptr, &words_);
  for (int i = 0; i < 24; ++i) EXPECT_TRUE(Tell(&sink, true));
  EXPECT_FALSE(Tell(&sink, true));
  EXPECT_EQ(Segments().size(), 24u);
  EXPECT_TRUE(Tell(&sink, false));
  EXPECT_FALSE(Tell(&sink, true));
  for (const std::string& name : Segments()) EXPECT_TRUE(Reader().Remove(name).ok());
  EXPECT_TRUE(Tell(&sink, true));
  EXPECT_EQ(Segments().size(), 1u);
}

TEST_F(ReportSinkUsage, IsInTheRunsRecordUntilItIsWritten) {
  RunFacts run_facts = testing::SomeFacts();
  TextCell scene;
  auto run = RunWriter::Create(directory_.path(), run_facts, &scene).value();
  auto read = [&] {
    RunRecord record;
    EXPECT_EQ(ParseRunRecord(testing::FileContent(testing::RunPath(directory_.path(), run_facts)), &record),
              RunFile::kRecord);
    return record;
  };
  ReportSink sink(facts_, spool_.get(), run.get(), &words_);
  usage_.Of("ui")->watched_ns = 10 * base::kNsPerSecond;
  sink.OnUsageSoFar(Event(true));
  sink.OnRoundDone();
  EXPECT_NE(read().usage_id, base::Uuid{});
  EXPECT_EQ(read().usage_loop, "ui");
  EXPECT_EQ(read().usage.dispatches, 7u);
  EXPECT_EQ(read().suppressed[static_cast<size_t>(SuppressedReason::kReportLimit)], 3u);
  usage_.Of("io")->dispatches = 2;
  usage_.Of("io")->watched_ns = 10 * base::kNsPerSecond;
  sink.OnUsageSoFar(Event(true));
  sink.OnRoundDone();
  EXPECT_EQ(read().usage_loop, "");
  EXPECT_EQ(read().usage.dispatches, 9u);
  EXPECT_TRUE(Tell(&sink, true));
  EXPECT_EQ(read().usage_id, base::Uuid{});
}

}  // namespace
}  // namespace lagwatch::sdk
