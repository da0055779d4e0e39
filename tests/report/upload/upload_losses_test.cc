// SPDX-License-Identifier: Apache-2.0
// The reports that the gate does not send, and how they are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "report/spool/spool_sweep.h"
#include "report/upload/upload_gate.h"
#include "tests/report/upload/upload_gate_testing.h"
#include "tests/testing/fault_env.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EnvCall;
using lagwatch::testing::HangEndRecord;
using lagwatch::testing::kDayMs;
using lagwatch::testing::kNoonMs;
using lagwatch::testing::NewId;
using lagwatch::testing::ReportRecord;
using ::testing::IsEmpty;

TEST_F(UploadGateTest, WhatIsTooOldIsCounted) {
  policies_.retention = {};
  spool_.Add(
      {ReportRecord({.id = NewId(kNoonMs - 8 * kDayMs)}), ReportRecord({.id = NewId(kNoonMs - 6 * kDayMs)})});
  Send();
  EXPECT_EQ(collector_.reports.size(), 1u);
  EXPECT_EQ(collector_.LossesTold(LossReason::kTooOld), 1u);
}

TEST_F(UploadGateTest, OfTooMuchOnDiskTheLeastImportantGoesAndIsCounted) {
  policies_.retention = {.longest_ms = INT64_MAX - 1, .total_bytes = 1};
  collector_.is_there = false;
  Add(3, {.tag = "anr", .level = HangLevel::kAnr});
  uint64_t size_bytes = 0;
  for (const std::string& name : spool_.Files(".seg"))
    size_bytes += std::filesystem::file_size(spool_ / name);
  Add(3, {.tag = "slow", .kind = HangKind::kFrames});
  policies_.retention.total_bytes = size_bytes + size_bytes / 7 + 1;  // of which an eighth is made free
  Send();
  collector_.is_there = true;
  Send();
  EXPECT_EQ(TagsStored("anr"), 3u);
  EXPECT_EQ(TagsStored("slow"), 0u);
  EXPECT_EQ(collector_.LossesTold(LossReason::kTooMuch), 3u);
}

TEST_F(UploadGateTest, ASweepOfManySavesNowAndThenAndForgetsWhatIsGone) {
  constexpr int kBatches = 5;
  policies_.retention = {.longest_ms = INT64_MAX - 1, .total_bytes = 0};
  policies_.losses_wait_ms = kDayMs;
  AddMany(kBatches * kSweepBatch);
  lagwatch::testing::FaultEnv env;
  SpoolSender sender(&env, spool_.path(), &collector_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  EXPECT_FALSE(sender.UploadOnce());
  EXPECT_THAT(spool_.Files(".seg"), IsEmpty());
  EXPECT_EQ(env.CountOf(EnvCall::kRename), kBatches + 1);
  auto ledger = UploadLedger::Parse(lagwatch::testing::ReadFile(spool_ / "ledger"));
  ASSERT_TRUE(ledger.ok());
  EXPECT_THAT(ledger->segments, IsEmpty());
  EXPECT_EQ(sender.stats().losses[static_cast<size_t>(LossReason::kTooMuch)], kBatches * kSweepBatch);
  policies_.losses_wait_ms = 0;
  Send();
  EXPECT_EQ(collector_.LossesTold(LossReason::kTooMuch), kBatches * kSweepBatch);
}

TEST_F(UploadGateTest, ASweepThatCannotBeSavedCountsNothing) {
  policies_.retention = {.longest_ms = INT64_MAX - 1, .total_bytes = 0};
  AddMany(3);
  lagwatch::testing::FaultEnv env;
  env.Fail(EnvCall::kRename, ENOSPC, 100);
  SpoolSender sender(&env, spool_.path(), &collector_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  EXPECT_EQ(sender.UploadOnce()->kind, UploadAnswer::Kind::kTryLater);
  EXPECT_EQ(spool_.Files(".seg").size(), 3u);
  EXPECT_EQ(sender.stats().losses[static_cast<size_t>(LossReason::kTooMuch)], 0u);
}

TEST_F(UploadGateTest, AHurriedSweepEndsAfterABatch) {
  policies_.retention = {.longest_ms = INT64_MAX - 1, .total_bytes = 0};
  collector_.is_there = false;
  AddMany(2 * kSweepBatch);
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  sender.Hurry();
  sender.UploadOnce();
  EXPECT_EQ(spool_.Files(".seg").size(), kSweepBatch);
}

TEST_F(UploadGateTest, WhileNothingMayBeSentTheSpoolIsSwept) {
  policies_.retention = {.longest_ms = INT64_MAX - 1, .total_bytes = 0};
  policies_.is_on_hold = true;
  Add(3, {});
  Send();
  EXPECT_THAT(spool_.Files(".seg"), IsEmpty());
  EXPECT_EQ(collector_.posts, 0);
  policies_.is_on_hold = false;
  Send();
  EXPECT_EQ(collector_.LossesTold(LossReason::kTooMuch), 3u);
}

TEST_F(UploadGateTest, LossesThatTheProgramCountedAreNotLost) {
  const Losses earlier{.id = NewId(), .app = "editor", .losses = {{LossReason::kTooMuch, 7, 5, 0}}};
  const OwnedRecord record{RecordType::kLosses, EncodeLosses(earlier)};
  spool_.Add({record});
  Send();
  EXPECT_EQ(collector_.LossesTold(LossReason::kTooMuch), 5u);
  policies_.is_turned_off = true;  // drops the record, but not its count
  spool_.Add({record});
  Send();
  policies_.is_turned_off = false;
  Send();
  EXPECT_EQ(collector_.LossesTold(LossReason::kTooMuch), 10u);
}

TEST_F(UploadGateTest, TurnedOffNothingIsSentAndAllIsCounted) {
  policies_.is_turned_off = true;
  Add(5, {});
  Send();
  EXPECT_EQ(collector_.posts, 0);
  EXPECT_THAT(spool_.Files(".seg"), IsEmpty());
  EXPECT_EQ(Counted(LossReason::kTurnedOff), 5u);
  policies_.is_turned_off = false;
  Send();
  EXPECT_EQ(collector_.LossesTold(LossReason::kTurnedOff), 5u);
}

TEST_F(UploadGateTest, ADamagedSegmentIsCounted) {
  Add(3, {});
  const std::string path = spool_ / spool_.Files(".seg").at(0);
  std::string bytes = lagwatch::testing::ReadFile(path);
  bytes[bytes.size() / 2] ^= 1;
  lagwatch::testing::WriteFile(path, bytes);
  Send();
  EXPECT_EQ(collector_.reports.size(), 2u);
  EXPECT_EQ(collector_.LossesTold(LossReason::kDamaged), 1u);
  EXPECT_EQ(collector_.losses.begin()->second.app, "editor");
}

TEST_F(UploadGateTest, DamageIsCountedAlsoWhereAllWasDecidedBefore) {
  Add(3, {});
  collector_.is_there = false;
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
  EXPECT_EQ(sender.UploadOnce()->kind, UploadAnswer::Kind::kTryLater);
  const std::string path = spool_ / spool_.Files(".seg").at(0);
  lagwatch::testing::WriteFile(path, lagwatch::testing::ReadFile(path).substr(100));
  collector_.is_there = true;
  Send();
  EXPECT_EQ(collector_.reports.size(), 2u);
  EXPECT_EQ(collector_.LossesTold(LossReason::kDamaged), 1u);
}

TEST_F(UploadGateTest, ADecisionStaysAsLongAsTheSegmentDoes) {
  policies_.quota = {1, 1};
  Add(2, {.function_offset = 0x1234});
  lagwatch::testing::FaultEnv env;
  {
    SpoolSender sender(&env, spool_.path(), &collector_, &namer_, clock_);
    sender.SetPolicies([this] { return policies_; });
    env.Fail(EnvCall::kRemove, EACCES, 100);
    while (sender.UploadOnce()) {
    }
    // Now it leaves that segment alone, and has a reason to write the ledger again.
    Add(1, {});
    while (sender.UploadOnce()) {
    }
  }
  Send();
  EXPECT_EQ(collector_.reports.size() + collector_.LossesTold(), 3u);
  EXPECT_TRUE(spool_.Files(".seg").empty());
}

TEST_F(UploadGateTest, WhatWasSentAndCouldNotBeRemovedIsNotCountedWhenItIsSweptLater) {
  Add(2, {});
  {
    lagwatch::testing::FaultEnv env;
    SpoolSender sender(&env, spool_.path(), &collector_, &namer_, clock_);
    env.Fail(EnvCall::kRemove, EACCES, 100);
    EXPECT_EQ(sender.UploadOnce()->kind, UploadAnswer::Kind::kDelivered);
  }
  ASSERT_EQ(spool_.Files(".seg").size(), 1u);
  policies_.retention = {.longest_ms = INT64_MAX - 1, .total_bytes = 1};
  Send();
  EXPECT_TRUE(spool_.Files(".seg").empty());
  EXPECT_EQ(collector_.reports.size(), 2u);
  EXPECT_EQ(collector_.LossesTold(), 0u);
}

TEST_F(UploadGateTest, ReportsThatAreSentAreCountedAndNothingElse) {
  const base::Uuid id = NewId();
  spool_.Add({ReportRecord({.id = id}), ReportRecord({.id = NewId(), .tag = "refused"}), HangEndRecord(id),
              lagwatch::testing::SealedRecord({.type = RecordType::kReport, .id = NewId()}),
              lagwatch::testing::SealedRecord({.type = RecordType::kUsage, .id = NewId()})});
  collector_.refused_tags = {"refused"};
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  while (sender.UploadOnce()) {
  }
  EXPECT_EQ(collector_.losses.size(), 1u);
  EXPECT_EQ(sender.stats().reports_delivered, 2u);
  EXPECT_EQ(sender.stats().records_rejected, 1u);
}

TEST_F(UploadGateTest, LossesWaitForCompanyButNotForEver) {
  policies_ = {.quota = {0, 0}};
  Add(5, {});
  Send();
  EXPECT_EQ(collector_.posts, 0);
  clock_.now_wall_ms += policies_.losses_wait_ms;
  Send();
  EXPECT_EQ(collector_.LossesTold(LossReason::kDayIsFull), 5u);
  Send();
  EXPECT_EQ(collector_.posts, 1);
}

TEST_F(UploadGateTest, ALedgerWhoseLossesWaitIsNotReadAgainUntilTheyAreDue) {
  policies_ = {.quota = {0, 0}};
  Add(5, {});
  lagwatch::testing::FaultEnv env;
  SpoolSender sender(&env, spool_.path(), &collector_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  auto reads_in_rounds = [&](int rounds) {
    const int before = env.CountOf(EnvCall::kReadFile) + env.CountOf(EnvCall::kLock);
    for (; rounds > 0; --rounds) EXPECT_FALSE(sender.UploadOnce());
    return env.CountOf(EnvCall::kReadFile) + env.CountOf(EnvCall::kLock) - before;
  };
  while (sender.UploadOnce()) {
  }
  EXPECT_EQ(reads_in_rounds(100), 0);
  policies_.is_turned_off = true;
  clock_.now_wall_ms += policies_.losses_wait_ms;
  EXPECT_EQ(reads_in_rounds(100), 0) << "where nothing is sent at all, they are not due";
  policies_.is_turned_off = false;
  while (sender.UploadOnce()) {
  }
  EXPECT_EQ(collector_.LossesTold(), 5u);
  EXPECT_EQ(reads_in_rounds(100), 0);
}

TEST_F(UploadGateTest, LossesThatAnotherProcessCountedAreNoticed) {
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  Add(1, {});
  while (sender.UploadOnce()) {
  }
  policies_ = {.quota = {0, 0}};
  Add(1, {});
  Send();  // as another process
  EXPECT_FALSE(sender.UploadOnce());
  clock_.now_wall_ms += policies_.losses_wait_ms;
  EXPECT_TRUE(sender.UploadOnce());
  EXPECT_EQ(collector_.LossesTold(), 1u);
}

TEST_F(UploadGateTest, LossesThatWereNotAnsweredAreNotAddedTo) {
  policies_.quota = {0, 0};
  collector_.loses_answers = true;
  Add(5, {});
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  sender.UploadOnce();
  Add(2, {});
  sender.UploadOnce();
  EXPECT_EQ(collector_.LossesTold(), 5u);
  collector_.loses_answers = false;
  Send();
  EXPECT_EQ(collector_.LossesTold(), 7u);
}

}  // namespace
}  // namespace lagwatch::report
