// SPDX-License-Identifier: Apache-2.0
#include "report/upload/upload_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/cluster/cause_key.h"
#include "tests/report/upload/upload_gate_testing.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::HangEndRecord;
using lagwatch::testing::kDayMs;
using lagwatch::testing::kNoonMs;
using lagwatch::testing::NewId;
using lagwatch::testing::ReportRecord;
using ::testing::SizeIs;

constexpr uint32_t kNoLimit = policies::QuotaLimits::kNoLimit;

TEST_F(UploadGateTest, WithoutPoliciesAllIsSentAsItIs) {
  Add(30, {});
  Send();
  EXPECT_EQ(collector_.reports.size(), 30u);
  EXPECT_TRUE(collector_.losses.empty());
  for (const auto& [id, report] : collector_.reports) EXPECT_EQ(report.sample_rate_ppm, 0u);
}

TEST_F(UploadGateTest, AReportGoesWithItsCause) {
  Add(1, {.function_offset = 0x1234});
  Send();
  policies::CauseKey key;
  key.Add("/opt/editor", "build-one", 0x1234);
  ASSERT_EQ(collector_.reports.size(), 1u);
  EXPECT_EQ(collector_.reports.begin()->second.cause, key.value());
}

TEST_F(UploadGateTest, OfUsersAShareIsSentAndTheRestIsCounted) {
  policies_.sampling = {.rate_ppm = 200'000, .salt = 3};
  size_t sampled = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string user = "u-" + std::to_string(i);
    sampled += policies_.sampling.IsSampled(user, policies::DayOf(kNoonMs));
    Add(2, {.user = user});
  }
  ASSERT_GT(sampled, 0u);
  ASSERT_LT(sampled, 50u);
  Send();
  EXPECT_EQ(collector_.reports.size(), 2 * sampled);
  EXPECT_EQ(collector_.LossesTold(LossReason::kNotSampled), 100 - 2 * sampled);
  for (const auto& [id, report] : collector_.reports) EXPECT_EQ(report.sample_rate_ppm, 200'000u);
}

TEST_F(UploadGateTest, TheDayIsTheReportsOwn) {
  policies_.sampling = {.rate_ppm = 500'000};
  std::vector<int64_t> sampled_days;
  for (int day = 0; day < 20; ++day) {
    const int64_t made_ms = kNoonMs - day * kDayMs;
    if (policies_.sampling.IsSampled("u-71", policies::DayOf(made_ms))) sampled_days.push_back(made_ms);
    spool_.Add({ReportRecord({.id = NewId(made_ms)})});
  }
  Send();
  EXPECT_EQ(collector_.reports.size(), sampled_days.size());
  for (const auto& [id, report] : collector_.reports)
    EXPECT_THAT(sampled_days, ::testing::Contains(WallMsOf(report.id)));
}

TEST_F(UploadGateTest, WithoutAUserTheInstallationIsSampledAsOne) {
  policies_.sampling = {.rate_ppm = 500'000};
  Add(40, {.user = ""});
  Send();
  EXPECT_TRUE(collector_.reports.empty() || collector_.reports.size() == 40) << collector_.reports.size();
  EXPECT_EQ(collector_.reports.size() + collector_.LossesTold(), 40u);
  // None of it is sent to the collector.
  auto ledger = UploadLedger::Parse(lagwatch::testing::ReadFile(spool_ / "ledger"));
  ASSERT_TRUE(ledger.ok());
  EXPECT_THAT(ledger->installation, SizeIs(36));
  for (const auto& [id, losses] : collector_.losses) EXPECT_EQ(losses.user, "");
}

TEST_F(UploadGateTest, AForcedUserIsSentPastSamplingAndQuota) {
  policies_ = {.sampling = {.rate_ppm = 0}, .quota = {1, 1}, .is_forced = true, .user = "u-71"};
  policies_.losses_wait_ms = 0;
  Add(10, {.user = "u-71"});
  Add(10, {.user = "u-72"});
  Send();
  EXPECT_EQ(collector_.reports.size(), 10u);
  for (const auto& [id, report] : collector_.reports) {
    EXPECT_EQ(report.user, "u-71");
    EXPECT_EQ(report.sample_rate_ppm, 0u);
  }
  EXPECT_EQ(collector_.LossesTold(LossReason::kNotSampled), 10u);
}

TEST_F(UploadGateTest, ADayHasItsQuotaAcrossProcesses) {
  policies_.quota = {20, 3};
  for (int i = 0; i < 10; ++i) {
    Add(4, {.level = HangLevel::kAnr, .function_offset = 0});
    Send();
  }
  EXPECT_EQ(collector_.reports.size(), 18u);  // the last two places are for killed ones
  EXPECT_EQ(collector_.LossesTold(LossReason::kDayIsFull), 22u);
  clock_.now_wall_ms += kDayMs;
  Add(4, {.level = HangLevel::kAnr, .function_offset = 0});
  Send();
  EXPECT_EQ(collector_.reports.size(), 22u);
}

TEST_F(UploadGateTest, OneCauseCannotEatTheDay) {
  policies_.quota = {20, 3};
  Add(10, {.tag = "hot", .function_offset = 0x7777});
  Add(2, {.tag = "rare", .function_offset = 0});
  Send();
  EXPECT_EQ(TagsStored("hot"), 3u);
  EXPECT_EQ(TagsStored("rare"), 2u);
  ASSERT_EQ(collector_.LossesTold(LossReason::kCauseIsFull), 7u);
  policies::CauseKey key;
  key.Add("/opt/editor", "build-one", 0x7777);
  EXPECT_EQ(collector_.losses.begin()->second.losses.at(0).cause, key.value());
}

TEST_F(UploadGateTest, AnotherUserAndAnotherAppHaveTheirOwnQuota) {
  policies_.quota = {4, kNoLimit};
  Add(10, {.user = "u-1", .level = HangLevel::kAnr});
  Add(10, {.user = "u-2", .level = HangLevel::kAnr});
  Send();
  EXPECT_EQ(collector_.reports.size(), 8u);
}

TEST_F(UploadGateTest, WhatMattersMoreIsTakenFirst) {
  policies_.quota = {4, kNoLimit};
  Add(10, {.tag = "slow", .kind = HangKind::kFrames, .function_offset = 0});
  Add(10, {.tag = "anr", .level = HangLevel::kAnr, .function_offset = 0});
  Send();
  EXPECT_EQ(TagsStored("anr"), 4u);
  EXPECT_EQ(TagsStored("slow"), 0u);
}

TEST_F(UploadGateTest, SlowDispatchesHaveAQuotaOfTheirOwn) {
  policies_.quota = {4, kNoLimit};
  policies_.slow = {.per_day = 3, .per_cause = 2};
  Add(10, {.tag = "slow", .kind = HangKind::kSlow, .function_offset = 0});
  Add(10, {.tag = "anr", .level = HangLevel::kAnr, .function_offset = 0});
  Send();
  EXPECT_EQ(TagsStored("anr"), 4u);
  EXPECT_EQ(TagsStored("slow"), 3u);
  EXPECT_EQ(collector_.LossesTold(LossReason::kDayIsFull), 13u);
  clock_.now_wall_ms += kDayMs;
  Add(10, {.tag = "same", .kind = HangKind::kSlow, .function_offset = 0x7777});
  Send();
  EXPECT_EQ(TagsStored("same"), 2u);
  EXPECT_EQ(collector_.LossesTold(LossReason::kCauseIsFull), 8u);
  // Lost reports of a cause are taken for hangs of it.
  for (const auto& [id, losses] : collector_.losses) {
    for (const Loss& loss : losses.losses) {
      if (loss.reason == LossReason::kCauseIsFull) {
        EXPECT_EQ(loss.cause, 0u);
      }
    }
  }
}

TEST_F(UploadGateTest, SealedSlowDispatchesHaveIt) {
  policies_.quota = {4, kNoLimit};
  policies_.slow = {.per_day = 1, .per_cause = kNoLimit};
  std::vector<OwnedRecord> records;
  for (int i = 0; i < 5; ++i)
    records.push_back(lagwatch::testing::SealedRecord(
        {RecordType::kReport, NewId(), 0x1000, policies::kWrittenSlowDispatch}));
  spool_.Add(records);
  Send();
  EXPECT_EQ(Counted(LossReason::kDayIsFull), 4u);
}

TEST_F(UploadGateTest, AHangThatTheRunWasKilledInMattersMost) {
  policies_.quota = {1, kNoLimit};
  const base::Uuid fatal = NewId();
  spool_.Add({ReportRecord({.id = NewId(), .tag = "anr", .level = HangLevel::kAnr}),
              ReportRecord({.id = fatal, .tag = "fatal"})});
  RunEnd end = lagwatch::testing::FullRunEnd();
  end.reason = policies::ExitReason::kKilledInHang;
  end.report_id = fatal;
  spool_.Add({{RecordType::kRunEnd, EncodeRunEnd(end)}});
  Send();
  EXPECT_EQ(TagsStored("fatal"), 1u);
  EXPECT_EQ(TagsStored("anr"), 0u);
  EXPECT_EQ(collector_.other_records, 1u);  // the run's end is outside the quota
}

TEST_F(UploadGateTest, TheEndOfAHangThatIsNotSentIsNotSentEither) {
  policies_.quota = {1, kNoLimit};
  const base::Uuid sent = NewId();
  const base::Uuid dropped = NewId();
  spool_.Add({ReportRecord({.id = sent, .level = HangLevel::kAnr}), ReportRecord({.id = dropped})});
  Send();
  spool_.Add({HangEndRecord(sent), HangEndRecord(dropped)});
  Send();
  ASSERT_THAT(collector_.ends, SizeIs(1));
  EXPECT_EQ(collector_.ends[0].report_id, sent);
  EXPECT_EQ(collector_.LossesTold(), 1u);
}

TEST_F(UploadGateTest, UsageIsSampledButHasNoQuota) {
  Usage usage = lagwatch::testing::FullUsage();
  policies_ = {.sampling = {.rate_ppm = 500'000}, .quota = {0, 0}};
  for (int day = 0; day < 20; ++day) {
    usage.id = NewId(kNoonMs - day * kDayMs);
    spool_.Add({{RecordType::kUsage, lagwatch::testing::EncodeUsage(usage)}});
  }
  size_t sampled = 0;
  for (int day = 0; day < 20; ++day)
    sampled += policies_.sampling.IsSampled("u-71", policies::DayOf(kNoonMs - day * kDayMs));
  Send();
  EXPECT_EQ(collector_.other_records, sampled);
  EXPECT_EQ(collector_.LossesTold(), 0u);
}

TEST_F(UploadGateTest, RecordsOfAnUnknownTypeAreSentAsTheyAre) {
  policies_ = {.sampling = {.rate_ppm = 0}, .quota = {0, 0}};
  spool_.Add({{static_cast<RecordType>(77), "from the future"}});
  lagwatch::testing::ScriptedTransport transport;
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &transport, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  EXPECT_EQ(sender.UploadOnce()->kind, UploadAnswer::Kind::kDelivered);
  EXPECT_GT(transport.batch_bytes.at(0), std::string("from the future").size());
  EXPECT_EQ(sender.CountSegmentsLeft(), 0u);
}

TEST_F(UploadGateTest, ADecisionStaysWhenThePoliciesChange) {
  policies_.quota = {4, kNoLimit};
  collector_.is_there = false;
  Add(6, {.level = HangLevel::kAnr, .function_offset = 0});
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  EXPECT_EQ(sender.UploadOnce()->kind, UploadAnswer::Kind::kTryLater);
  policies_.quota = {100, 100};
  policies_.sampling.rate_ppm = 0;
  clock_.now_wall_ms += 3 * kDayMs;
  collector_.is_there = true;
  Send();
  EXPECT_EQ(collector_.reports.size(), 4u);
  EXPECT_EQ(collector_.LossesTold(LossReason::kDayIsFull), 2u);
  EXPECT_EQ(collector_.LossesTold(), 2u);
}

TEST_F(UploadGateTest, ADamagedLedgerIsBegunAnewAndCounted) {
  lagwatch::testing::WriteFile(spool_ / "ledger", "{\"version\": 1,");
  Add(1, {});
  policies_.retention = {};  // it is swept as well
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  EXPECT_EQ(sender.UploadOnce()->kind, UploadAnswer::Kind::kDelivered);
  EXPECT_EQ(sender.stats().ledgers_damaged, 1u);
  EXPECT_TRUE(UploadLedger::Parse(lagwatch::testing::ReadFile(spool_ / "ledger")).ok());
}

}  // namespace
}  // namespace lagwatch::report
