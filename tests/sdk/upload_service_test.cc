// SPDX-License-Identifier: Apache-2.0
#include "sdk/upload_service.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/process/env.h"
#include "base/text.h"
#include "report/spool/spool_writer.h"
#include "sdk/report/writing_switch.h"
#include "tests/report/config_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

TEST(UploadPolicies, AreTheDocumentedOnesUnlessTheProgramSaysElse) {
  const report::UploadPolicies policies = DefaultUploadPolicies();
  EXPECT_EQ(policies.sampling.rate_ppm, 50'000u);
  EXPECT_EQ(policies.quota.per_day, 20u);
  EXPECT_EQ(policies.quota.per_cluster, 3u);
  EXPECT_EQ(policies.retention.longest_ms, 7 * 24 * 3600 * int64_t{1'000});
  EXPECT_EQ(policies.retention.total_bytes, 64u << 20);
  EXPECT_FALSE(policies.is_forced || policies.is_turned_off);
}

TEST(UploadPolicies, TheCollectorHasTheLastWord) {
  const report::UploadPolicies own = DefaultUploadPolicies();
  const report::UploadPolicies same = With(own, {});
  EXPECT_EQ(same.sampling.rate_ppm, own.sampling.rate_ppm);
  EXPECT_EQ(same.quota.per_day, own.quota.per_day);
  EXPECT_EQ(same.retention.longest_ms, own.retention.longest_ms);

  report::RemoteConfig config;
  config.is_killed = true;
  config.is_forced = true;
  config.user = "u-71";
  config.user_rate_ppm = 7;
  config.sampling_salt = 8;
  config.reports_per_day = 9;
  config.reports_per_cluster = 10;
  config.retention_hours = 11;
  config.retention_mib = 12;
  const report::UploadPolicies wanted = With(own, config);
  EXPECT_TRUE(wanted.is_turned_off && wanted.is_forced);
  EXPECT_EQ(wanted.sampling.rate_ppm, 7u);
  EXPECT_EQ(wanted.sampling.salt, 8u);
  EXPECT_EQ(wanted.quota.per_day, 9u);
  EXPECT_EQ(wanted.quota.per_cluster, 10u);
  EXPECT_EQ(wanted.retention.longest_ms, 11 * 3600 * int64_t{1'000});
  EXPECT_EQ(wanted.retention.total_bytes, 12u << 20);
  EXPECT_EQ(wanted.user, "u-71");
}

TEST(Network, DecidesWhetherAnythingIsSent) {
  EXPECT_TRUE(MaySendNow(false) && MaySendNow(true));
  SetNetwork(LW_NETWORK_METERED);
  EXPECT_TRUE(MaySendNow(false));
  EXPECT_FALSE(MaySendNow(true));
  SetNetwork(LW_NETWORK_NONE);
  EXPECT_FALSE(MaySendNow(false) || MaySendNow(true));
  SetNetwork(LW_NETWORK_UNMETERED);
}

class UploadServiceTest : public ::testing::Test {
 protected:
  void Spool() {
    auto writer =
        report::SpoolWriter::Create(&base::SystemEnv(), directory_ / "spool", base::CreateUuidV7(1), {});
    ASSERT_TRUE((*writer)->Append(report::RecordType::kReport, "record"));
  }

  testing::ScopedTempDirectory directory_;
};

TEST_F(UploadServiceTest, AFileEndpointIsADirectory) {
  Spool();
  auto service =
      UploadService::Create(directory_ / "spool", {.http = {.endpoint = "file://" + directory_ / "out"}});
  ASSERT_TRUE(service.ok()) << service.status().message();
  ASSERT_TRUE((*service)->Start().ok());
  EXPECT_TRUE((*service)->TryStop(60'000));
  EXPECT_EQ((*service)->reports_delivered(), 1u);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out"))
    files += entry.path().extension() == ".gz";
  EXPECT_EQ(files, 1u);
}

// Nothing is to be sent, says the collector.
class KillingSource final : public report::ConfigSource {
 public:
  explicit KillingSource(std::string envelope) : envelope_(std::move(envelope)) {}
  report::ConfigAnswer Fetch(const std::string&) override {
    return {.kind = report::ConfigAnswer::AnswerKind::kDocument, .envelope = envelope_};
  }
  void Abort() override {}

 private:
  std::string envelope_;
};

TEST_F(UploadServiceTest, TheConfigIsAskedForAndHeeded) {
  Spool();
  const report::testing::ConfigSigner signer;
  auto keeper = std::make_unique<ConfigKeeper>(
      std::make_unique<KillingSource>(
          signer.Envelope(1, {{"expires_wall_ms", INT64_MAX}, {"is_killed", true}})),
      report::ConfigStore(&base::SystemEnv(), directory_ / "spool", signer.public_key(), {"editor", "u-1"}),
      &base::SystemClock());
  auto service = UploadService::Create(
      directory_ / "spool", {.post = [](std::string_view, std::string*) { return 204; }}, std::move(keeper));
  ASSERT_TRUE(service.ok());
  ASSERT_TRUE((*service)->Start().ok());
  EXPECT_TRUE((*service)->TryStop(60'000));
  process_writing.SetKilled(false);
  EXPECT_EQ((*service)->reports_delivered(), 0u);
  EXPECT_EQ((*service)->losses()[static_cast<size_t>(report::LossReason::kTurnedOff)], 1u);
}

TEST_F(UploadServiceTest, WhatAnEarlierRunWasToldHoldsWhereNothingCanBeAsked) {
  Spool();
  const report::testing::ConfigSigner signer;
  report::ConfigStore store(&base::SystemEnv(), directory_ / "spool", signer.public_key(), {"editor", "u-1"});
  ASSERT_TRUE(
      store.Accept(signer.Envelope(1, {{"expires_wall_ms", INT64_MAX}, {"is_killed", true}}), 0).ok());
  auto service =
      UploadService::Create(directory_ / "spool", {.post = [](std::string_view, std::string*) { return 204; },
                                                   .config_key = base::ToHex(signer.public_key()),
                                                   .audience = {"editor", "u-1"}});
  ASSERT_TRUE(service.ok());
  ASSERT_TRUE((*service)->Start().ok());
  EXPECT_TRUE((*service)->TryStop(60'000));
  process_writing.SetKilled(false);
  EXPECT_EQ((*service)->losses()[static_cast<size_t>(report::LossReason::kTurnedOff)], 1u);
}

TEST_F(UploadServiceTest, AnEndpointThatIsNoneIsRefused) {
  for (const char* endpoint : {"ftp://x", "file://relative", "lag.example.com"})
    EXPECT_FALSE(UploadService::Create(directory_ / "spool", {.http = {.endpoint = endpoint}}).ok());
}

}  // namespace
}  // namespace lagwatch::sdk
