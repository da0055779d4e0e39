// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "report/format/losses.h"
#include "report/format/report_encoder.h"
#include "report/spool/spool_reader.h"
#include "sdk/report/record_writer.h"
#include "tests/report/report_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

using report::LossReason;
using report::RecordType;
using report::SpoolReader;

constexpr int64_t kDayMs = 24 * 3600 * int64_t{1000};

std::string EncodedReport(const std::string& app) {
  std::vector<char> bytes(4096);
  report::FixedBuffer buffer(bytes.data(), bytes.size());
  report::ReportEncoder encoder(&buffer);
  report::ReportHeader header{};
  header.id = header.session_id = header.hang_id = base::CreateUuidV7(1);
  header.app = app;
  header.kind = report::HangKind::kHang;
  encoder.SetHeader(header);
  encoder.SetExpensiveStack(encoder.AddStack({}, report::Completeness::kNone));
  return std::string(buffer.content());
}

class SpoolKeeper : public ::testing::Test {
 protected:
  std::unique_ptr<report::SpoolWriter> NewWriter() {
    return report::SpoolWriter::Create(&env_, spool_.path(), base::CreateUuidV7(++sessions_), {}).value();
  }
  // A sealed segment that was written so long ago.
  void Add(const std::vector<report::OwnedRecord>& records, int64_t age_ms) {
    auto writer = NewWriter();
    for (const report::OwnedRecord& record : records)
      EXPECT_TRUE(writer->Append(record.type, record.payload));
    writer.reset();
    Age(Reader().List(SpoolReader::Include::kFinished)->back(), age_ms);
  }
  void Age(const std::string& name, int64_t age_ms) {
    const time_t written_s = (now_wall_ms_ - age_ms) / 1000;
    const timespec times[2] = {{written_s, 0}, {written_s, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (spool_ / name).c_str(), times, 0), 0);
  }
  void Sweep(bool is_sent = false) {
    auto writer = NewWriter();
    SweepUnsentSpool(&env_, spool_.path(), is_sent, now_wall_ms_, writer.get());
  }
  SpoolReader Reader() const { return {&base::SystemEnv(), spool_.path()}; }
  std::vector<report::OwnedRecord> Records() const {
    std::vector<report::OwnedRecord> records;
    const std::vector<std::string> names = Reader().List(SpoolReader::Include::kFinished).value();
    for (const std::string& name : names) {
      auto segment = Reader().Read(name);
      for (report::OwnedRecord& record : segment->records) records.push_back(std::move(record));
    }
    return records;
  }
  std::vector<report::Losses> LossesInSpool() const {
    std::vector<report::Losses> all;
    for (const report::OwnedRecord& record : Records()) {
      if (record.type == RecordType::kLosses) all.push_back(report::DecodeLosses(record.payload).value());
    }
    return all;
  }

  testing::ScopedTempDirectory spool_;
  base::Env& env_ = base::SystemEnv();
  int64_t now_wall_ms_ = base::SystemClock().WallMs();
  int sessions_ = 0;
};

TEST_F(SpoolKeeper, CountsTheReportsThatItRemoves) {
  const auto new_report = [] { return report::OwnedRecord{RecordType::kReport, EncodedReport("editor")}; };
  Add({new_report(), new_report(), {RecordType::kHangEnd, "not a report"}}, 8 * kDayMs);
  Add({new_report()}, 6 * kDayMs);
  Sweep();
  auto losses = LossesInSpool();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].app, "editor");
  ASSERT_EQ(losses[0].losses.size(), 1u);
  EXPECT_EQ(losses[0].losses[0], (report::Loss{.reason = LossReason::kTooOld, .count = 2}));
  EXPECT_EQ(Records().size(), 2u) << "the young report and the losses";
}

TEST_F(SpoolKeeper, CountsWhatItCountedBeforeWhenThatIsRemovedItself) {
  report::Losses earlier{.id = base::CreateUuidV7(1), .app = "editor", .begin_wall_ms = 5, .end_wall_ms = 6};
  earlier.losses = {{.reason = LossReason::kTooMuch, .count = 7}};
  Add({{RecordType::kLosses, report::EncodeLosses(earlier)}, {RecordType::kReport, EncodedReport("editor")}},
      8 * kDayMs);
  Sweep();
  auto losses = LossesInSpool();
  ASSERT_EQ(losses.size(), 1u);
  std::map<LossReason, uint64_t> counts;
  for (const report::Loss& loss : losses[0].losses) counts[loss.reason] += loss.count;
  EXPECT_EQ(counts, (std::map<LossReason, uint64_t>{{LossReason::kTooMuch, 7}, {LossReason::kTooOld, 1}}));
  EXPECT_EQ(losses[0].begin_wall_ms, 5u);
}

TEST_F(SpoolKeeper, CountsASegmentOnceThoughAKillLeftItThere) {
  const report::OwnedRecord editors{RecordType::kReport, EncodedReport("editor")};
  Add({editors, {RecordType::kReport, EncodedReport("viewer")}}, 8 * kDayMs);
  const std::string name = Reader().List(SpoolReader::Include::kFinished)->at(0);
  const std::string content = testing::ReadFile(spool_ / name);
  Sweep();
  const std::vector<report::Losses> losses = LossesInSpool();
  ASSERT_EQ(losses.size(), 2u) << "one for each program";
  EXPECT_NE(losses[0].id, losses[1].id);
  // As after a kill between the counting and the removal.
  testing::WriteFile(spool_ / name, content);
  Age(name, 8 * kDayMs);
  Sweep();
  EXPECT_EQ(Records().size(), 2u) << "the losses that were there";
  // A process that removes losses counts them on under other ids: there two for one would stay two.
  const std::vector<std::string> names = Reader().List(SpoolReader::Include::kFinished).value();
  for (const std::string& young : names) Age(young, 8 * kDayMs);
  Sweep();
  std::map<std::string, uint64_t> counts;
  for (const report::Losses& later : LossesInSpool()) {
    for (const report::Loss& loss : later.losses) counts[later.app] += loss.count;
  }
  EXPECT_EQ(counts, (std::map<std::string, uint64_t>{{"editor", 1}, {"viewer", 1}}));
}

TEST_F(SpoolKeeper, LeavesASpoolAloneThatSomebodySends) {
  Add({{RecordType::kReport, EncodedReport("editor")}}, 8 * kDayMs);
  testing::WriteFile(spool_ / "ledger", "{}");
  Sweep();
  EXPECT_EQ(LossesInSpool().size(), 0u);
  EXPECT_EQ(Records().size(), 1u);
  Age("ledger", 8 * kDayMs);
  Sweep(/*is_sent=*/true);
  EXPECT_EQ(LossesInSpool().size(), 0u) << "whoever sends goes on with the ledger";
  Sweep();
  EXPECT_EQ(LossesInSpool().size(), 1u) << "nobody has for a week";
}

TEST_F(SpoolKeeper, SweepsWhatWasNeverSentThoughSomebodyIsToSendIt) {
  Add({{RecordType::kReport, EncodedReport("editor")}}, 8 * kDayMs);
  Sweep(/*is_sent=*/true);
  EXPECT_EQ(LossesInSpool().size(), 1u);
}

TEST_F(SpoolKeeper, CountsDamageAsOneReport) {
  Add({{RecordType::kReport, EncodedReport("editor")}}, 0);
  const std::string name = Reader().List(SpoolReader::Include::kFinished)->at(0);
  std::string content;
  ASSERT_EQ(env_.ReadAll(spool_ / name, &content), 0);
  testing::WriteFile(spool_ / name, content + "damage");
  Age(name, 8 * kDayMs);
  Sweep();
  auto losses = LossesInSpool();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].app, "editor");
  EXPECT_EQ(losses[0].losses, (std::vector<report::Loss>{{.reason = LossReason::kTooOld, .count = 1},
                                                         {.reason = LossReason::kDamaged, .count = 1}}));
}

}  // namespace
}  // namespace lagwatch::sdk
