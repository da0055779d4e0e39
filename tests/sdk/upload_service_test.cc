// SPDX-License-Identifier: Apache-2.0
#include "sdk/upload_service.h"

#include <gtest/gtest.h>

#include <string>

#include "base/env.h"
#include "report/spool/spool_writer.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

TEST(UploadPolicies, AreTheDocumentedOnesUnlessTheProgramSaysElse) {
  const report::UploadPolicies policies = DefaultUploadPolicies();
  EXPECT_EQ(policies.sampling.rate_ppm, 50'000u);
  EXPECT_EQ(policies.quota.per_day, 20u);
  EXPECT_EQ(policies.quota.per_cluster, 3u);
  EXPECT_EQ(policies.longest_ms, 7 * 24 * 3600 * int64_t{1'000});
  EXPECT_FALSE(policies.is_forced || policies.is_turned_off);
}

TEST(UploadPolicies, TheCollectorHasTheLastWord) {
  report::UploadPolicies own = DefaultUploadPolicies();
  own.user = "u-71";
  const report::UploadPolicies same = With(own, {});
  EXPECT_EQ(same.sampling.rate_ppm, own.sampling.rate_ppm);
  EXPECT_EQ(same.quota.per_day, own.quota.per_day);
  EXPECT_EQ(same.longest_ms, own.longest_ms);

  report::RemoteConfig config;
  config.is_killed = true;
  config.is_forced = true;
  config.user_rate_ppm = 7;
  config.sampling_salt = 8;
  config.reports_per_day = 9;
  config.reports_per_cluster = 10;
  config.retention_hours = 11;
  const report::UploadPolicies wanted = With(own, config);
  EXPECT_TRUE(wanted.is_turned_off && wanted.is_forced);
  EXPECT_EQ(wanted.sampling.rate_ppm, 7u);
  EXPECT_EQ(wanted.sampling.salt, 8u);
  EXPECT_EQ(wanted.quota.per_day, 9u);
  EXPECT_EQ(wanted.quota.per_cluster, 10u);
  EXPECT_EQ(wanted.longest_ms, 11 * 3600 * int64_t{1'000});
  EXPECT_EQ(wanted.user, "u-71");
}

TEST(Network, DecidesWhetherAnythingIsSent) {
  EXPECT_TRUE(MaySendNow(false) && MaySendNow(true));
  SetNetwork(Network::kMetered);
  EXPECT_TRUE(MaySendNow(false));
  EXPECT_FALSE(MaySendNow(true));
  SetNetwork(Network::kNone);
  EXPECT_FALSE(MaySendNow(false) || MaySendNow(true));
  SetNetwork(Network::kUnmetered);
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
  EXPECT_EQ((*service)->http_client(), nullptr);
  ASSERT_TRUE((*service)->Start().ok());
  (*service)->Stop(60'000);
  EXPECT_EQ((*service)->records_delivered(), 1u);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out"))
    files += entry.path().extension() == ".gz";
  EXPECT_EQ(files, 1u);
}

TEST_F(UploadServiceTest, TheConfigIsAskedForAndHeeded) {
  Spool();
  int asked = 0;
  auto service =
      UploadService::Create(directory_ / "spool", {.post = [](std::string_view, std::string*) { return 204; },
                                                   .remote_config =
                                                       [&] {
                                                         ++asked;
                                                         report::RemoteConfig config;
                                                         config.is_killed = true;
                                                         return std::optional(config);
                                                       }});
  ASSERT_TRUE(service.ok());
  ASSERT_TRUE((*service)->Start().ok());
  (*service)->Stop(60'000);
  EXPECT_GT(asked, 0);
  EXPECT_EQ((*service)->records_delivered(), 0u);
  EXPECT_EQ((*service)->losses()[static_cast<size_t>(report::LossReason::kTurnedOff)], 1u);
}

TEST_F(UploadServiceTest, AnEndpointThatIsNoneIsRefused) {
  for (const char* endpoint : {"ftp://x", "file://relative", "lag.example.com"})
    EXPECT_FALSE(UploadService::Create(directory_ / "spool", {.http = {.endpoint = endpoint}}).ok());
}

}  // namespace
}  // namespace lagwatch::sdk
