// SPDX-License-Identifier: Apache-2.0
// Losses that users report: the collector's estimates for all users, and the users' own view before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/collector/memory_collector.h"
#include "tests/report/upload/upload_testing.h"
#include "tests/testing/process.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::Gunzip;
using lagwatch::testing::kDayMs;
using lagwatch::testing::kNoonMs;
using lagwatch::testing::MemoryCollector;
using lagwatch::testing::NewId;
using lagwatch::testing::ReportRecord;
using ::testing::ElementsAre;
using ::testing::Pair;

class WayToCollector final : public Transport {
 public:
  UploadAnswer Post(std::string_view gzip_body) override {
    if (!is_there) return {.message = "nobody there"};
    auto result = collector.ingest.Submit(Gunzip(gzip_body));
    if (!result.ok()) return {.message = result.status().message()};
    return {.kind = UploadAnswer::Kind::kDelivered,
            .http_status = 200,
            .answered_records = result->records.size()};
  }
  void Abort() override {}

  bool is_there = true;
  MemoryCollector collector;
};

class UserLosses : public ::testing::Test {
 protected:
  static constexpr int kUsers = 40;

  UserLosses() {
    for (int i = 0; i < kUsers; ++i) {
      sampled_users_ += policies_.sampling.IsSampled(UserOf(i), policies::DayOf(kNoonMs));
    }
  }
  static std::string UserOf(int i) { return "u-" + std::to_string(i); }
  // Of each user.
  void AddReports(int64_t made_wall_ms = kNoonMs) {
    for (int i = 0; i < kUsers; ++i) {
      const std::string user = UserOf(i);
      spool_.Add({ReportRecord({.id = NewId(made_wall_ms), .user = user}),
                  ReportRecord({.id = NewId(made_wall_ms), .user = user})});
    }
  }
  void DamageAll() {
    for (const std::string& name : spool_.Files(".seg")) {
      std::string bytes = lagwatch::testing::ReadFile(spool_ / name);
      bytes[bytes.size() - 10] ^= 1;
      lagwatch::testing::WriteFile(spool_ / name, bytes);
    }
  }
  void Send() {
    SpoolSender sender(&base::SystemEnv(), spool_.path(), &way_, &namer_, clock_);
    sender.SetPolicies([this] { return policies_; });
    while (auto answer = sender.UploadOnce())
      ASSERT_EQ(answer->kind, UploadAnswer::Kind::kDelivered) << answer->message;
  }
  double EstimateOf(LossReason reason) const {
    double reports = 0;
    for (const auto& loss : way_.collector.Get("/v1/losses")) {
      if (loss["reason"] == LossReasonName(reason)) reports += loss["estimated"]["reports"].get<double>();
    }
    return reports;
  }

  lagwatch::testing::ScopedSpool spool_;
  lagwatch::testing::SetClock clock_;
  lagwatch::testing::NoNames namer_;
  WayToCollector way_;
  UploadPolicies policies_{.sampling = {.rate_ppm = 250'000}, .losses_wait_ms = 0};
  int sampled_users_ = 0;
};

TEST_F(UserLosses, WhatAllUsersTellOfCountsOnce) {
  policies_.retention = {};
  AddReports(kNoonMs - 8 * kDayMs);
  Send();
  policies_.is_turned_off = true;
  AddReports();
  Send();
  policies_.is_turned_off = false;
  AddReports();
  DamageAll();
  Send();
  EXPECT_EQ(EstimateOf(LossReason::kTooOld), 2 * kUsers);
  EXPECT_EQ(EstimateOf(LossReason::kTurnedOff), 2 * kUsers);
  EXPECT_EQ(EstimateOf(LossReason::kDamaged), kUsers);
}

TEST_F(UserLosses, WhatOnlySampledUsersTellOfStandsForOthers) {
  ASSERT_GT(sampled_users_, 0);
  policies_.quota = {0, 0};
  AddReports();
  Send();
  EXPECT_EQ(EstimateOf(LossReason::kDayIsFull), 2 * sampled_users_ * 4);
}

// Those that wait, and those that were sent and not answered.
TEST_F(UserLosses, TheCommandShowsLossesThatNobodyWasToldOf) {
  auto shown = [&] {
    lagwatch::testing::Process command({LAGWATCH_PROGRAM, "losses", "--json", "--spool", spool_.path()});
    EXPECT_EQ(command.Wait(), 0) << command.Errors();
    std::map<std::string, int> reports;
    for (const auto& loss : collector::Json::parse(command.Output()))
      reports[loss["reason"]] += loss["reports"].get<int>();
    return reports;
  };
  policies_.is_turned_off = true;
  AddReports();
  Send();
  EXPECT_THAT(shown(), ElementsAre(Pair("turned-off", 2 * kUsers)));
  policies_ = {.quota = {0, 0}, .losses_wait_ms = 0};
  way_.is_there = false;
  AddReports();
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &way_, &namer_, clock_);
  sender.SetPolicies([this] { return policies_; });
  EXPECT_EQ(sender.UploadOnce()->kind, UploadAnswer::Kind::kTryLater);
  EXPECT_THAT(shown(), ElementsAre(Pair("day-is-full", 2 * kUsers), Pair("turned-off", 2 * kUsers)));
}

}  // namespace
}  // namespace lagwatch::report
