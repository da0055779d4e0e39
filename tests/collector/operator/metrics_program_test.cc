// SPDX-License-Identifier: Apache-2.0
// The program's metrics and its log, read by those that they are for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/clock.h"
#include "collector/http/measures/hang_counts.h"
#include "tests/collector/operator/running_collector.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Process;
using testing::SampleReport;

class MeasuredCollector : public testing::RunningCollector {
 protected:
  static SampleReport HangOf(const std::string& version, const std::string& user) {
    SampleReport report;
    const int64_t wall_ms = base::SystemClock().WallMs();
    report.header.app_version = version;
    report.header.user = user;
    report.header.elapsed_ns = 2'000'000'000;
    report.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
    report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
    return report;
  }
  std::string Metrics() { return Ask("GET", "/metrics").text; }
  // The value of a metric with its labels; -1 without one.
  double Value(const std::string& metric) {
    const std::string text = "\n" + Metrics();
    const size_t at = text.find("\n" + metric + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + metric.size() + 2));
  }
};

TEST_F(MeasuredCollector, PrometheusFindsNothingWrongWithItsMetrics) {
  Start({"--app-quota", "editor=100"});
  const SampleReport report = HangOf("1.0", "ann");
  const std::string batch = testing::EncodeBatch({report.Encode(), HangOf("1.0", "bob").Encode()},
                                                 {testing::EncodeEnd(report.header.id, 5'000'000'000)});
  ASSERT_EQ(Client(port_).Post(batch).status, 200);
  ASSERT_EQ(Client(port_).Post(batch).status, 200);  // again: nothing counts twice
  Process promtool({LAGWATCH_PROMTOOL, "check", "metrics"});
  promtool.WriteInput(Metrics());
  promtool.CloseInput();
  EXPECT_EQ(promtool.Wait(), 0) << promtool.Output() << promtool.Errors();

  const std::string labels = "{app=\"editor\",verdict=\"unknown\",version=\"1.0\"}";
  EXPECT_EQ(Value("lagwatch_hangs_total" + labels), 2) << Metrics();
  EXPECT_EQ(Value("lagwatch_hung_seconds_total" + labels), 7);
  EXPECT_EQ(Value("lagwatch_hang_users" + labels), 2);
  EXPECT_GT(Value("lagwatch_store_bytes{what=\"used\"}"), 0);
  EXPECT_GT(Value("lagwatch_store_bytes{what=\"log\"}"), 0);
  EXPECT_EQ(Value("lagwatch_store_damaged{what=\"present\"}"), 0);
  EXPECT_EQ(Value("lagwatch_commit_seconds_count{part=\"write\"}"), 2);
  EXPECT_GE(Value("lagwatch_commit_seconds_count{part=\"sync\"}"), 1);
  EXPECT_EQ(Value("lagwatch_queue_records"), 0);
  EXPECT_GE(Value("lagwatch_job_steps_total{job=\"retention\",result=\"ok\"}"), 1);
  EXPECT_THAT(Metrics(), HasSubstr("lagwatch_build_info{version=\""));
  EXPECT_GT(Value("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(Value("process_cpu_seconds_total"), 0);
  EXPECT_GT(Value("process_open_fds"), 5);
  EXPECT_NEAR(Value("process_start_time_seconds"), static_cast<double>(base::SystemClock().WallMs()) / 1000,
              60);
}

TEST_F(MeasuredCollector, QuotasOfKeysAreShown) {
  Start();
  Process keys({LAGWATCH_COLLECTOR_PROGRAM, "keys", "add", "--data", data_, "--name", "field", "--access",
                "project", "--reports-per-s", "5", "--bytes-per-day", "1000000"});
  ASSERT_EQ(keys.Wait(), 0);
  Client client(port_);
  const std::string key = keys.Output().substr(0, keys.Output().find('\n'));
  client.headers[0] = "Authorization: Bearer " + key;
  ASSERT_EQ(client.Post(testing::EncodeBatch({HangOf("1.0", "ann").Encode()})).status, 200);
  EXPECT_EQ(Value("lagwatch_key_quota{key=\"field\",what=\"reports_per_second\"}"), 5) << Metrics();
  EXPECT_LT(Value("lagwatch_key_quota{key=\"field\",what=\"bytes_left\"}"), 1'000'000);
  EXPECT_THAT(Metrics(), Not(HasSubstr(key)));
}

TEST_F(MeasuredCollector, TheLogSaysWhoseRequestItWas) {
  Start({"--log-format", "json"});
  ASSERT_EQ(Client(port_).Post(testing::EncodeBatch({HangOf("1.0", "ann").Encode()})).status, 200);
  Client stranger(port_);
  stranger.headers = {"Authorization: Bearer k_wrong"};
  EXPECT_EQ(stranger.Get("/v1/reports").status, 401);
  Stop();
  const std::string log = collector_->Errors();
  nlohmann::json upload, refusal;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const auto entry = nlohmann::json::parse(line);  // each line is JSON
    if (entry["message"].get<std::string>().starts_with("upload:")) upload = entry;
    if (entry["message"].get<std::string>().starts_with("refused")) refusal = entry;
  }
  EXPECT_EQ(upload.value("key", ""), "given-1") << log;
  EXPECT_EQ(upload.value("peer", ""), "127.0.0.1");
  EXPECT_EQ(upload.value("status", 0), 200);
  EXPECT_GT(upload.value("duration_ms", -1.0), 0);
  EXPECT_EQ(refusal.value("status", 0), 401) << log;
  EXPECT_EQ(refusal.value("peer", ""), "127.0.0.1");
  EXPECT_THAT(log, Not(HasSubstr("k_wrong")));
  EXPECT_THAT(log, Not(HasSubstr(testing::kKey)));
}

TEST(HangCounts, HaveABoundedNumberOfLabels) {
  HangCounts counts;
  for (size_t i = 0; i < HangCounts::kMostVersions + 50; ++i) {
    NewReport report;
    report.row.id = report.row.hang_id = base::CreateUuidV7(1'700'000'000'000);
    report.row.app = "editor";
    report.row.version = std::to_string(i);
    report.row.kind = "lag";
    report.row.verdict = "cpu";
    report.row.elapsed_ns = 1'000'000'000;
    const NewRecord record(report);
    const CommitOutcome outcome = CommitOutcome::kStored;
    counts.Add({&record, 1}, {&outcome, 1}, 1'700'000'000'000);
  }
  size_t labels = 0;
  uint64_t others = 0, all = 0;
  counts.ForEach(1'700'000'000'000, [&](const auto& of, const std::string&, const auto& sums) {
    ++labels;
    all += sums.hangs;
    if (of.version == "(others)") others = sums.hangs;
  });
  EXPECT_EQ(labels, HangCounts::kMostVersions + 1);
  EXPECT_EQ(others, 50u);
  EXPECT_EQ(all, HangCounts::kMostVersions + 50);
}

TEST(HangCounts, UsersAreThoseOfADay) {
  HangCounts counts;
  constexpr int64_t kNow = 1'700'000'000'000;
  NewReport report;
  report.row.id = report.row.hang_id = base::CreateUuidV7(kNow);
  report.row.user = "ann";
  report.row.kind = "lag";
  const NewRecord record(report);
  const CommitOutcome outcome = CommitOutcome::kStored;
  counts.Add({&record, 1}, {&outcome, 1}, kNow);
  const auto users_at = [&](int64_t now) {
    int64_t users = -1;
    counts.ForEach(now,
                   [&](const auto&, const std::string&, const auto& sums) { users = sums.users.Count(); });
    return users;
  };
  EXPECT_EQ(users_at(kNow), 1);
  EXPECT_EQ(users_at(kNow + kMsPerDay), 0);
}

}  // namespace
}  // namespace lagwatch::collector
