// SPDX-License-Identifier: Apache-2.0
// Rows of a waiting batch that belong to a removal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "collector/store/clickhouse/insert/batch_rows.h"
#include "collector/store/clickhouse/insert/record_rows.h"
#include "collector/store/clickhouse/row_remover.h"
#include "report/format/losses.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::collector {
namespace {

using ::testing::IsEmpty;

using testing::SampleReport;
using ::testing::UnorderedElementsAre;

constexpr int64_t kDay = 20'000;

NewRecord ReportRecord(const SampleReport& sample, const char* sender) {
  const std::string payload = sample.Encode();
  const report::Report decoded = report::DecodeReport(payload).value();
  NewReport report = NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload);
  report.unnamed_builds = {"module"};
  NewRecord record = std::move(report);
  record.sender = sender;
  return record;
}

class BatchRemoval : public ::testing::Test {
 protected:
  // A report of jane's editor that came with the key "leaked", and one of john's player; each with an end.
  // Losses of both, and what killed the second run.
  BatchRemoval() {
    jane_.header.id = jane_.header.hang_id = base::CreateUuidV7(kDay * kMsPerDay);
    john_.header.id = john_.header.hang_id = base::CreateUuidV7((kDay + 1) * kMsPerDay);
    jane_.header.user = "jane";
    john_.header.user = "john";
    jane_.header.app = "editor";
    john_.header.app = "player";
    john_.stack = {"Other", "main"};
    records_ = {ReportRecord(jane_, "leaked"),       ReportRecord(john_, "build"),
                report::HangEnd{jane_.header.id, 5}, report::HangEnd{john_.header.id, 6},
                LossesOf("editor", "jane"),          LossesOf("player", "john")};
    records_.push_back(report::RunEnd{.session_id = john_.header.session_id,
                                      .reason = policies::ExitReason::kKilledInHang,
                                      .report_id = john_.header.id,
                                      .hang_ns = 7,
                                      .last_seen_wall_ms = uint64_t{kDay + 1} * kMsPerDay,
                                      .app = "player",
                                      .user = "john"});
    NewRecord unknown = report::OwnedRecord{static_cast<report::RecordType>(77), "new"};
    unknown.sender = "leaked";
    records_.push_back(std::move(unknown));
  }

  static report::Losses LossesOf(const char* app, const char* user) {
    const int64_t wall_ms = kDay * kMsPerDay;
    return {.id = base::CreateUuidV7(wall_ms),
            .app = app,
            .user = user,
            .end_wall_ms = static_cast<uint64_t>(wall_ms),
            .losses = {{.count = 1}, {.count = 2}}};
  }

  // The number of rows that are left of each table.
  std::map<std::string, size_t> LeftOf(const Removal& removal,
                                       const std::vector<base::Uuid>& report_ids = {}) {
    const Schema schema(ClickHouseUrl::Parse("clickhouse://h:1/db?cluster=c").value());
    Versions versions;
    RecordRows rows(&schema, &versions);
    for (const NewRecord& record : records_) {
      if (const auto ended = EndedReportOf(record)) rows.MarkEndOf(*ended, *ended);
      std::visit([&](const auto& known) { rows.Add(known); }, record);
      rows.AddSenderOf(record);
    }
    Batch batch{rows.Take(), {}};
    has_changed_ = TakeOut(removal, report_ids, &batch);
    std::map<std::string, size_t> left;
    for (const Batch::Part& part : batch.parts)
      left[std::string(TableOf(part.target)->name)] = RowsOf(part).size();
    return left;
  }

  // The rest of the tables of which each removal of jane or of john's report takes some rows.
  static auto Left(size_t reports, size_t ends, size_t run_ends, size_t losses, size_t unknown,
                   size_t senders) {
    std::map<std::string, size_t> left = {
        {"reports_v2", reports}, {"ends_v1", ends},       {"run_ends_v1", run_ends}, {"losses_v1", losses},
        {"unknown_v1", unknown}, {"senders_v1", senders}, {"unnamed_v1", reports},   {"marks_v1", 2}};
    std::erase_if(left, [](const auto& table) { return table.second == 0; });
    return left;
  }

  SampleReport jane_, john_;
  std::vector<NewRecord> records_;
  bool has_changed_ = false;
};

TEST_F(BatchRemoval, OfAUser) {
  EXPECT_EQ(LeftOf({.by = Removal::By::kUser, .subject = "jane"}), Left(1, 2, 1, 2, 1, 2));
  EXPECT_EQ(LeftOf({.by = Removal::By::kUser, .subject = "john"}), Left(1, 1, 0, 2, 1, 2));
  EXPECT_EQ(LeftOf({.by = Removal::By::kUser, .subject = "nobody"}), Left(2, 3, 1, 4, 1, 3));
  EXPECT_FALSE(has_changed_);
}

TEST_F(BatchRemoval, OfPrograms) {
  EXPECT_EQ(LeftOf({.by = Removal::By::kApp, .subject = "editor"}), Left(1, 2, 1, 2, 1, 2));
  EXPECT_EQ(LeftOf({.by = Removal::By::kOtherApps, .excluded_apps = {"editor"}}), Left(1, 1, 0, 2, 1, 2));
  EXPECT_EQ(LeftOf({.by = Removal::By::kOtherApps, .before_day = kDay + 1}), Left(1, 2, 1, 0, 1, 2));
}

TEST_F(BatchRemoval, OfAKey) {
  EXPECT_EQ(LeftOf({.by = Removal::By::kKey, .subject = "leaked"}), Left(1, 2, 1, 4, 0, 1));
}

TEST_F(BatchRemoval, OfOneReport) {
  EXPECT_EQ(LeftOf({.by = Removal::By::kReport, .subject = base::ToString(john_.header.id)}),
            Left(1, 2, 1, 4, 1, 2));
}

TEST_F(BatchRemoval, OfACause) {
  const std::string key = std::get<NewReport>(records_[0]).clusters[1].key;
  EXPECT_EQ(LeftOf({.by = Removal::By::kCluster, .subject = key}), Left(1, 2, 1, 4, 1, 2));
}

TEST_F(BatchRemoval, OfReportsThatAreInClickHouse) {
  EXPECT_EQ(LeftOf({.by = Removal::By::kUser, .subject = "nobody"}, {jane_.header.id}),
            Left(1, 2, 1, 4, 1, 2));
}

TEST_F(BatchRemoval, OfAllLeavesNothing) {
  records_.resize(2);
  EXPECT_THAT(LeftOf({.by = Removal::By::kOtherApps}), IsEmpty());
  EXPECT_TRUE(has_changed_);
}

}  // namespace
}  // namespace lagwatch::collector
