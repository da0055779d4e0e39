// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_sweep.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/clock.h"
#include "report/config/config_file_name.h"
#include "report/spool/spool_writer.h"
#include "report/upload/ledger_file.h"
#include "tests/report/upload/upload_testing.h"
#include "tests/testing/fault_env.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EnvCall;
using policies::RemovalReason;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr int64_t kHourMs = 3600 * 1000;

// A record by its name, such as "2a": the priority, and a letter that is written as the cause.
OwnedRecord RecordOf(const std::string& name, size_t sealed_bytes = kSealTagBytes) {
  const SealedLabel label{RecordType::kReport, lagwatch::testing::IdOf("id-0123456789abc"),
                          static_cast<uint64_t>(name[1]), static_cast<uint32_t>(name[0] - '0')};
  return lagwatch::testing::SealedRecord(label, std::string(sealed_bytes, 'x'));
}

// Notes the names of what is to be removed.
class NotingVisitor final : public SweepVisitor {
 public:
  bool OnRemoval(const std::string&, const SegmentFacts& segment, RemovalReason reason) override {
    const char* why = reason == RemovalReason::kTooOld ? " too old" : " too much";
    for (const RecordFacts& facts : segment.records) {
      const char name[] = {static_cast<char>('0' + static_cast<int>(facts.priority)),
                           static_cast<char>(facts.cause), '\0'};
      removed.push_back(std::string(name) + why);
    }
    return is_counting;
  }
  bool KeepCounts() override {
    counted_when_kept.push_back(removed.size());
    return is_keeping;
  }
  void OnRemoved(const std::string& name) override { gone.push_back(name); }
  bool GoesOn() override { return goes_on; }

  std::vector<std::string> removed;
  std::vector<size_t> counted_when_kept;
  std::vector<std::string> gone;
  bool is_counting = true;
  bool is_keeping = true;
  bool goes_on = true;
};

const std::string kSession = "018f3c5e-7a10-7c3e-9d2a-5b1f0e6a4c77";

class SpoolSweep : public ::testing::Test {
 protected:
  // A sealed segment with one record, last written so long ago.
  std::string Add(const std::string& name, int64_t age_ms, size_t sealed_bytes = kSealTagBytes) {
    const OwnedRecord record = RecordOf(name, sealed_bytes);
    auto writer = SpoolWriter::Create(&env_, spool_.path(), base::CreateUuidV7(++sessions_), {}).value();
    EXPECT_TRUE(writer->Append(record.type, record.payload));
    writer.reset();
    auto names = SpoolReader(&env_, spool_.path()).List(SpoolReader::Include::kFinished).value();
    Age(names.back(), age_ms);
    return names.back();
  }
  // Segments of one program, with the same record each.
  void AddMany(size_t count, int64_t age_ms) {
    const std::string one = Add("0a", 0);
    const std::string content = lagwatch::testing::ReadFile(spool_ / one);
    unlink((spool_ / one).c_str());
    for (size_t i = 0; i < count; ++i) AddFile(kSession + "-" + std::to_string(i) + ".seg", content, age_ms);
  }
  void Age(const std::string& name, int64_t age_ms) {
    const int64_t written_ms = now_wall_ms_ - age_ms;
    const timespec times[2] = {{written_ms / 1000, 0}, {written_ms / 1000, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (spool_ / name).c_str(), times, 0), 0);
  }
  void AddFile(const std::string& name, const std::string& content, int64_t age_ms) {
    lagwatch::testing::WriteFile(spool_ / name, content);
    Age(name, age_ms);
  }
  SweepResult Sweep(const SweepLimits& limits = {}) {
    return SweepSpool(&env_, spool_.path(), limits, now_wall_ms_, &visitor_).value();
  }

  lagwatch::testing::ScopedTempDirectory spool_;
  lagwatch::testing::FaultEnv env_;
  NotingVisitor visitor_;
  int64_t now_wall_ms_ = base::SystemClock().WallMs();
  int sessions_ = 0;
};

TEST_F(SpoolSweep, WhatIsTooOldGoes) {
  Add("0a", 8 * 24 * kHourMs);
  const std::string kept = Add("0b", 6 * 24 * kHourMs);
  SweepResult result = Sweep();
  EXPECT_THAT(visitor_.removed, ElementsAre("0a too old"));
  EXPECT_THAT(spool_.Files(), ElementsAre(kept));
  EXPECT_EQ(result.segments_removed, 1u);
  EXPECT_EQ(result.bytes_removed, sizeof(RecordHeader) + RecordOf("0a").payload.size());
  Sweep();
  EXPECT_THAT(visitor_.removed, ElementsAre("0a too old")) << "only once";
}

TEST_F(SpoolSweep, OfTooMuchTheLeastImportantAndOldestGoesFirst) {
  constexpr size_t kSealedBytes = 900;  // a segment of nearly 1000 bytes
  Add("2a", 5 * kHourMs, kSealedBytes);
  Add("0b", 1 * kHourMs, kSealedBytes);
  Add("0c", 2 * kHourMs, kSealedBytes);
  Add("4d", 9 * kHourMs, kSealedBytes);
  Sweep({.retention = {.total_bytes = 2400}});
  EXPECT_THAT(visitor_.removed, ElementsAre("0c too much", "0b too much"));
  Sweep({.retention = {.total_bytes = 1200}});
  EXPECT_THAT(visitor_.removed, ElementsAre("0c too much", "0b too much", "2a too much"));
}

TEST_F(SpoolSweep, LiveSegmentsStayAndDeadOnesGo) {
  auto writer = SpoolWriter::Create(&env_, spool_.path(), base::CreateUuidV7(1), {}).value();
  EXPECT_TRUE(writer->Append(RecordType::kSealed, RecordOf("0a").payload));
  const std::string live = spool_.Files().at(0);
  Age(live, 30 * 24 * kHourMs);
  EXPECT_EQ(Sweep().segments_removed, 0u);
  EXPECT_THAT(visitor_.removed, IsEmpty());
  env_.Fail(EnvCall::kRename, EIO);
  writer.reset();
  Age(live, 30 * 24 * kHourMs);
  EXPECT_EQ(Sweep().segments_removed, 1u);
  EXPECT_THAT(visitor_.removed, ElementsAre("0a too old"));
  EXPECT_THAT(spool_.Files(), IsEmpty());
}

TEST_F(SpoolSweep, OrphansGoAndNothingElseIsTouched) {
  const int64_t old_ms = 25 * kHourMs;
  AddFile(kSession + "-000000.new", "", old_ms);
  AddFile(kSession + "-000001.open", "", 0);
  AddFile(std::string(kLedgerTemporaryName), "{", old_ms);
  AddFile(ConfigFileName({"editor", "u-71"}).append(kNewConfigSuffix), "{", old_ms);
  // A writer may just have made these:
  AddFile(kSession + "-000002.new", "", 0);
  // And these are not the spool's.
  std::vector<std::string> foreign = {"ledger",
                                      "ledger.tmp2",
                                      "ledger.new",
                                      "ledger-2024.tmp",
                                      "config",
                                      "config.new",
                                      "config-00ff.new",
                                      "config-00ff00ff00ff00ff.tmp",
                                      "config-00ff00ff00ff00ff0.new",
                                      "config-00FF00FF00FF00FF.new",
                                      "config-00ff00ff00ff00ff.old.new",
                                      "notes.txt",
                                      "other.tmp",
                                      "x.new"};
  for (const std::string& name : foreign) AddFile(name, "?", 400 * old_ms);
  mkdir((spool_ / "runs").c_str(), 0700);
  SweepResult result = Sweep();
  EXPECT_EQ(result.orphans_removed, 4u);
  EXPECT_THAT(visitor_.removed, IsEmpty());
  foreign.insert(foreign.end(), {kSession + "-000002.new", "runs"});
  EXPECT_THAT(spool_.Files(), UnorderedElementsAreArray(foreign));
}

TEST_F(SpoolSweep, LinksAndSomebodyElsesFilesStay) {
  lagwatch::testing::ScopedTempDirectory elsewhere;
  lagwatch::testing::WriteFile(elsewhere / "target", "");
  ASSERT_EQ(symlink((elsewhere / "target").c_str(), (spool_ / (kSession + "-000000.seg")).c_str()), 0);
  const std::string theirs = Add("0a", 30 * 24 * kHourMs);
  if (chown((spool_ / theirs).c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root gives files away";
  Sweep();
  EXPECT_EQ(spool_.Files().size(), 2u);
  EXPECT_THAT(visitor_.removed, IsEmpty());
}

TEST_F(SpoolSweep, RefusedRecordsAreKeptAsLongAndNotCountedAgain) {
  AddFile(kSession + "-000000.rejected", "refused", 8 * 24 * kHourMs);
  AddFile(kSession + "-000001.rejected", "refused", kHourMs);
  EXPECT_EQ(Sweep().segments_removed, 1u);
  EXPECT_THAT(visitor_.removed, IsEmpty());
  EXPECT_THAT(spool_.Files(), ElementsAre(kSession + "-000001.rejected"));
}

TEST_F(SpoolSweep, WhatCannotBeCountedOrRemovedStays) {
  const std::string name = Add("0a", 8 * 24 * kHourMs);
  visitor_.is_counting = false;
  EXPECT_EQ(Sweep().not_removed, 1u);
  EXPECT_THAT(spool_.Files(), ElementsAre(name));
  visitor_.is_counting = true;
  env_.Fail(EnvCall::kRemove, EROFS);
  EXPECT_EQ(Sweep().not_removed, 1u);
  EXPECT_THAT(spool_.Files(), ElementsAre(name));
  EXPECT_EQ(Sweep().segments_removed, 1u);
}

TEST_F(SpoolSweep, ManyAreCountedBeforeTheFirstIsRemoved) {
  constexpr size_t kCount = 2 * kSweepBatch + 1;
  AddMany(kCount, 8 * 24 * kHourMs);
  AddFile(kSession + "-999999.rejected", "refused", 8 * 24 * kHourMs);
  EXPECT_EQ(Sweep().segments_removed, kCount + 1);
  EXPECT_THAT(visitor_.counted_when_kept, ElementsAre(kSweepBatch, 2 * kSweepBatch, kCount));
  EXPECT_EQ(visitor_.gone.size(), kCount) << "but for what was refused";
  EXPECT_THAT(spool_.Files(), IsEmpty());
}

TEST_F(SpoolSweep, WhereTheCountsCannotBeKeptNothingGoes) {
  AddMany(kSweepBatch + 1, 8 * 24 * kHourMs);
  visitor_.is_keeping = false;
  EXPECT_EQ(Sweep().not_removed, kSweepBatch + 1);
  EXPECT_EQ(visitor_.counted_when_kept.size(), 1u) << "nor is it tried again and again";
  EXPECT_EQ(spool_.Files().size(), kSweepBatch + 1);
  EXPECT_THAT(visitor_.gone, IsEmpty());
}

TEST_F(SpoolSweep, EndsAfterABatchWhenItIsTold) {
  AddMany(kSweepBatch + 1, 8 * 24 * kHourMs);
  visitor_.goes_on = false;
  EXPECT_EQ(Sweep().segments_removed, kSweepBatch);
  EXPECT_EQ(spool_.Files().size(), 1u);
}

TEST_F(SpoolSweep, WhatCannotBeReadNowStaysUntilItsReportsCanBeCounted) {
  Add("0a", 8 * 24 * kHourMs);
  env_.Fail(EnvCall::kReadFile, EMFILE);
  EXPECT_EQ(Sweep().not_removed, 1u);
  EXPECT_EQ(Sweep().segments_removed, 1u);
  EXPECT_THAT(visitor_.removed, ElementsAre("0a too old"));
}

TEST_F(SpoolSweep, WhatIsTooLargeEverToBeReadGoes) {
  const std::string name = kSession + "-000001.seg";
  AddFile(name, "", 0);
  ASSERT_EQ(truncate((spool_ / name).c_str(), base::Env::kMaxReadBytes + 1), 0);
  EXPECT_EQ(Sweep().segments_removed, 1u);
  EXPECT_THAT(spool_.Files(), IsEmpty());
}

TEST_F(SpoolSweep, AMissingDirectoryIsSaid) {
  NotingVisitor visitor;
  auto result = SweepSpool(&env_, spool_ / "nowhere", {}, now_wall_ms_, &visitor);
  EXPECT_EQ(result.status().code(), base::StatusCode::kNotFound);
  env_.Fail(EnvCall::kList, EIO);
  EXPECT_EQ(SweepSpool(&env_, spool_.path(), {}, now_wall_ms_, &visitor).status().code(),
            base::StatusCode::kIo);
}

}  // namespace
}  // namespace lagwatch::report
