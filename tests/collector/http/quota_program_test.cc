// SPDX-License-Identifier: Apache-2.0
// The program with limits of programs and of its store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>

#include "base/clock.h"
#include "collector/store/records.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/large_report.h"
#include "tests/collector/sentry/payloads.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using testing::EncodeBatch;
using ::testing::HasSubstr;
using testing::Process;
using testing::SampleReport;

constexpr uint64_t kMiB = 1 << 20;

std::string ReportOfAppAged(const char* app, int64_t age_days = 0) {
  SampleReport report;
  const int64_t wall_ms = base::SystemClock().WallMs() - age_days * kMsPerDay;
  report.header.app = app;
  report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
  report.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
  return report.Encode();
}

class QuotaProgram : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {LAGWATCH_COLLECTOR_PROGRAM,
                                          "--listen",
                                          "127.0.0.1:0",
                                          "--data",
                                          data_,
                                          "--key",
                                          testing::kKey,
                                          "--admin-token",
                                          "a_test",
                                          "--min-free-mib",
                                          "0"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    collector_ = std::make_unique<Process>(std::move(arguments));
    ASSERT_TRUE(testing::WaitUntil([&] { return collector_->Output().ends_with('\n'); }))
        << collector_->Errors();
    const std::string line = collector_->Output();
    port_ = static_cast<uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  }
  Answer Ask(const std::string& target) {
    Client client(port_);
    client.headers = {"Authorization: Bearer a_test"};
    return client.Get(target);
  }
  Answer Post(const std::vector<std::string>& reports) { return Client(port_).Post(EncodeBatch(reports)); }
  // 100 reports of a day, 1 MiB together.
  Answer PostLarge(int64_t age_days) {
    const int64_t wall_ms = base::SystemClock().WallMs() - age_days * kMsPerDay;
    std::vector<std::string> reports;
    for (int i = 0; i < 100; ++i) reports.push_back(testing::LargeReport(wall_ms - i, &random_));
    return Post(reports);
  }
  uint64_t FileBytes() const {
    return std::filesystem::file_size(data_ + "/collector.db") +
           std::filesystem::file_size(data_ + "/collector.db-wal");
  }

  testing::ScopedMemoryDirectory directory_;
  std::string data_ = directory_ / "data";
  std::unique_ptr<Process> collector_;
  uint16_t port_ = 0;
  std::mt19937 random_{7};
};

TEST_F(QuotaProgram, RefusesOptionsThatAreWrong) {
  const struct {
    std::vector<std::string> options;
    const char* error;
  } cases[] = {
      {{"--app-retention-days", "editor"}, "--app-retention-days 'editor': give it as APP=DAYS"},
      {{"--app-retention-days", "=3"}, "'=3': give it as APP=DAYS"},
      {{"--app-retention-days", "editor=0"}, "'editor=0': DAYS is a number from 1 to 36500"},
      {{"--app-retention-days", "editor=36501"}, "DAYS is a number from 1 to 36500"},
      {{"--app-retention-days", "editor=3x"}, "DAYS is a number from 1 to 36500"},
      {{"--app-retention-days", "a=1", "--app-retention-days", "a=2"}, "the program a has a number already"},
      {{"--app-retention-days", std::string(65, 'a') + "=1"}, "APP has at most 64 bytes"},
      {{"--app-quota", "editor=0"}, "--app-quota 'editor=0': REPORTS is a number from 1 to 1000000000"},
      {{"--app-quota", "editor=99999999999999999999"}, "REPORTS is a number from 1 to 1000000000"},
      {{"--app-quota", "editor=-1"}, "REPORTS is a number from 1 to 1000000000"},
      {{"--store-gib", "0"}, "--store-gib is a number from 0.0625 to 1048576"},
      {{"--store-gib", "0.01"}, "--store-gib is a number from 0.0625 to 1048576"},
      {{"--store-gib", "1e9"}, "--store-gib is a number from 0.0625 to 1048576"},
      {{"--store-gib", "nan"}, "--store-gib is a number from 0.0625 to 1048576"},
      {{"--store-gib", "much"}, "--store-gib"},
      {{"--store", "clickhouse://u:p@127.0.0.1:1/x?cluster=c", "--store-gib", "1"},
       "--store-gib needs --store sqlite"},
      {{"--store", "clickhouse://u:p@127.0.0.1:1/x?cluster=c", "--app-retention-days", "a=1"},
       "--app-retention-days needs --store sqlite"},
  };
  for (const auto& each : cases) {
    std::vector<std::string> arguments = {LAGWATCH_COLLECTOR_PROGRAM, "--data", data_};
    arguments.insert(arguments.end(), each.options.begin(), each.options.end());
    Process collector(std::move(arguments));
    EXPECT_EQ(collector.Wait(), 2) << each.error;
    EXPECT_THAT(collector.Errors(), HasSubstr(each.error));
  }
  EXPECT_FALSE(std::filesystem::exists(data_));  // nothing was begun
}

TEST_F(QuotaProgram, AProgramsReportsAreLimitedADay) {
  Start({"--app-quota", "editor=3", "--app-quota", "mail client=1"});
  const Answer first =
      Post({ReportOfAppAged("editor"), ReportOfAppAged("editor"), ReportOfAppAged("mail client"),
            ReportOfAppAged("mail client"), ReportOfAppAged("player")});
  ASSERT_EQ(first.status, 200);
  EXPECT_EQ(first.json()["accepted"], 4);
  EXPECT_EQ(first.json()["over_quota"], 1);
  EXPECT_EQ(first.json()["results"][0]["over_quota"], true);
  const Answer second = Post({ReportOfAppAged("editor"), ReportOfAppAged("editor")});
  EXPECT_EQ(second.json()["over_quota"], 1);
  const Answer third = Post({ReportOfAppAged("editor")});
  EXPECT_EQ(third.status, 200);
  EXPECT_EQ(third.json()["rejected"], 1);
  EXPECT_EQ(Ask("/v1/reports?app=editor").json().size(), 3u);
  const std::string metrics = Ask("/metrics").text;
  EXPECT_THAT(metrics, HasSubstr("lagwatch_records_total{result=\"over_quota\"} 3"));
  EXPECT_THAT(metrics, HasSubstr("lagwatch_app_quota_reports{app=\"mail client\",what=\"limit\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("lagwatch_app_quota_reports{app=\"editor\",what=\"refused_today\"} 2"));
}

TEST_F(QuotaProgram, ASentrySdkIsToldToWait) {
  Start({"--app-quota", "editor=1", "--retention-days", "0"});
  Client client(port_);
  client.headers = {"X-Sentry-Auth: Sentry sentry_key=" + std::string(testing::kKey)};
  std::string event = testing::kNativeHang;
  EXPECT_EQ(client.Perform("POST", "/api/1/store/", &event).status, 200);
  event.replace(event.find("9b2e7a4c"), 8, "00000001");
  const Answer over = client.Perform("POST", "/api/1/store/", &event);
  EXPECT_EQ(over.status, 429) << over.text;
  EXPECT_THAT(over.head, HasSubstr("Retry-After: "));
  EXPECT_THAT(over.head, HasSubstr("X-Sentry-Rate-Limits: "));
  EXPECT_THAT(over.text, HasSubstr("no more reports of this program today"));
  EXPECT_EQ(Ask("/v1/reports").json().size(), 1u);
}

TEST_F(QuotaProgram, AProgramsReportsAreTakenForItsRetention) {
  Start({"--retention-days", "20", "--app-retention-days", "editor=5", "--app-retention-days", "mail=40"});
  const Answer answer =
      Post({ReportOfAppAged("editor", 10), ReportOfAppAged("editor", 4), ReportOfAppAged("mail", 30),
            ReportOfAppAged("player", 30), ReportOfAppAged("player", 10), ReportOfAppAged("player")});
  EXPECT_EQ(answer.json()["accepted"], 4);
  EXPECT_EQ(answer.json()["refused"], 2);
  EXPECT_EQ(Ask("/v1/reports?app=editor").json().size(), 1u);
  // The newest report is of today, so the clock is right.
  EXPECT_EQ(Ask("/v1/admin/jobs").json()["retention"]["is_held"], false);
}

TEST_F(QuotaProgram, AFullStoreMakesRoomOfTheOldestDaysWhileItTakesReports) {
  constexpr uint64_t kMost = 64 * kMiB;
  Start({"--store-gib", "0.0625"});
  int refused = 0;
  uint64_t largest_bytes = 0;
  int64_t slowest_ns = 0;
  for (int64_t age_days = 9; age_days >= 0; --age_days) {
    for (int i = 0; i < 8; ++i) {
      const int64_t begin_ns = base::SystemClock().MonoNs();
      Answer answer = PostLarge(age_days);
      slowest_ns = std::max(slowest_ns, base::SystemClock().MonoNs() - begin_ns);
      for (int again = 0; answer.status == 503 && again < 200; ++again, ++refused) {
        EXPECT_THAT(answer.head, HasSubstr("Retry-After: 60\r\n"));
        usleep(50'000);
        answer = PostLarge(age_days);
      }
      ASSERT_EQ(answer.status, 200) << answer.text;
      largest_bytes = std::max(largest_bytes, FileBytes());
    }
  }
  EXPECT_LE(largest_bytes, kMost);
  // The old days are gone, the new ones are whole.
  const auto reports_of = [&](int64_t age_days) {
    const int64_t wall_ms = base::SystemClock().WallMs() - age_days * kMsPerDay;
    const std::string time = std::to_string(wall_ms);
    return Ask("/v1/reports?limit=1000&from_ms=" + time + "&to_ms=" + time).json().size();
  };
  EXPECT_EQ(reports_of(9), 0u);
  EXPECT_GE(reports_of(2), 700u);
  EXPECT_GE(reports_of(0), 700u);
  EXPECT_EQ(Ask("/readyz").status, 200);
  EXPECT_THAT(Ask("/metrics").text, HasSubstr("lagwatch_store_quota_removed_total{what=\"days\"}"));
  EXPECT_THAT(Ask("/metrics").text, HasSubstr("lagwatch_store_bytes{what=\"limit\"} 67108864"));
  EXPECT_THAT(collector_->Errors(), HasSubstr("store quota: removed the records of "));
  RecordProperty("largest_mib", static_cast<int>(largest_bytes / kMiB));
  RecordProperty("refused", refused);
  RecordProperty("slowest_ms", static_cast<int>(slowest_ns / base::kNsPerMs));
}

TEST_F(QuotaProgram, AStoreFullOfTodayTakesNothing) {
  Start({"--store-gib", "0.0625"});
  Answer answer = PostLarge(0);
  for (int i = 0; answer.status == 200 && i < 100; ++i) answer = PostLarge(0);
  ASSERT_EQ(answer.status, 503) << answer.text;
  EXPECT_THAT(answer.head, HasSubstr("Retry-After: 60\r\n"));
  EXPECT_THAT(answer.text, HasSubstr("of 64 MiB (--store-gib)"));
  const Answer ready = Ask("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_THAT(ready.text, HasSubstr("--store-gib"));
  EXPECT_LE(FileBytes(), 64 * kMiB);
  EXPECT_EQ(Ask("/v1/clusters").status, 200);
}

}  // namespace
}  // namespace lagwatch::collector
