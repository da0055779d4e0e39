// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "collector/query/cluster_queries.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::SampleReport;

constexpr int64_t kVersionsBeginMs = 19'700 * kMsPerDay;

class CauseVersionsTest : public ::testing::Test {
 protected:
  // Made on the `day`th day.
  void Hang(const std::string& innermost, const std::string& version, int day, int64_t hang_ms,
            uint32_t sample_rate_ppm = 0) {
    SampleReport report{.stack = {innermost, "Caller"}};
    report.header.id = report.header.hang_id = base::CreateUuidV7(kVersionsBeginMs + day * kMsPerDay);
    report.header.start_wall_ms = static_cast<uint64_t>(kVersionsBeginMs + day * kMsPerDay);
    report.header.app_version = version;
    report.header.elapsed_ns = hang_ms * 1'000'000;
    std::string encoded = report.Encode();
    report::AppendCause(7, &encoded);
    if (sample_rate_ppm != 0)
      report::AppendSampleRate(report::RecordType::kReport, sample_rate_ppm, &encoded);
    ASSERT_TRUE(collector_.ingest.Submit(testing::EncodeBatch({encoded})).ok());
  }
  void Watch(const std::string& app, const std::string& version, int day, int64_t hours) {
    report::Usage usage{.id = base::CreateUuidV7(kVersionsBeginMs),
                        .app = app,
                        .app_version = version,
                        .begin_wall_ms = static_cast<uint64_t>(kVersionsBeginMs + day * kMsPerDay),
                        .end_wall_ms = static_cast<uint64_t>(kVersionsBeginMs + day * kMsPerDay + 7)};
    usage.loops = {{"ui", {.watched_ns = hours * 3'600'000'000'000}}};
    std::string batch;
    report::AppendToBatch({report::RecordType::kUsage, testing::EncodeUsage(usage)}, &batch);
    ASSERT_TRUE(collector_.ingest.Submit(batch).ok());
  }
  std::string KeyOf(const std::string& innermost) {
    for (const Json& cause : collector_.Get("/v1/clusters")) {
      if (cause["frames"][0] == innermost) return cause["key"];
    }
    return "";
  }
  Json ByVersion(const std::string& key, const std::string& filter = "") {
    return collector_.Get("/v1/clusters/" + key, "by=version" + filter)["by_version"];
  }
  static std::vector<std::string> NamesOf(const Json& versions) {
    std::vector<std::string> names;
    for (const Json& version : versions)
      names.push_back(version["app"].get<std::string>() + " " + version["version"].get<std::string>());
    return names;
  }

  testing::MemoryCollector collector_;
};

TEST_F(CauseVersionsTest, TellWhetherACauseWasFixed) {
  Hang("Save", "1.9", 1, 2000);
  Hang("Save", "1.9", 3, 3000);
  Hang("Save", "1.10", 2, 1000, 500'000);
  Watch("editor", "1.8", 0, 7);  // before it was there
  Watch("editor", "1.9", 1, 3);
  Watch("editor", "1.9", 2, 1);
  Watch("editor", "1.10", 2, 4);
  Watch("editor", "2.0", 4, 5);
  Watch("editor", "2.0", 6, 1);
  Watch("viewer", "3.0", 4, 9);  // another program
  const Json versions = ByVersion(KeyOf("Save"));
  ASSERT_THAT(NamesOf(versions), ElementsAre("editor 1.9", "editor 1.10", "editor 2.0"));
  EXPECT_EQ(versions[0], (Json{{"app", "editor"},
                               {"version", "1.9"},
                               {"reports", 2},
                               {"hangs", 2},
                               {"users", 1},
                               {"hang_ms", 5000.0},
                               {"estimated", {{"hang_ms", 5000.0}}},
                               {"hang_ms_per_hour", 1250.0},
                               {"hang_ms_per_hour_interval", versions[0]["hang_ms_per_hour_interval"]},
                               {"watched_ms", 4 * 3'600'000.0},
                               {"first_seen_ms", kVersionsBeginMs + kMsPerDay},
                               {"last_seen_ms", kVersionsBeginMs + 3 * kMsPerDay},
                               {"lags", 2}}));
  const Json interval = versions[0]["hang_ms_per_hour_interval"];
  // Two hangs of one user: the deviation of the sum is the root of 2 * (2² + 3²) s².
  EXPECT_NEAR(interval["low"].get<double>(), 1250 * std::exp(-1.96 * std::sqrt(26) / 5), 1);
  EXPECT_NEAR(interval["high"].get<double>(), 1250 * std::exp(1.96 * std::sqrt(26) / 5), 50);
  EXPECT_EQ(versions[1]["hang_ms"], 1000.0);
  EXPECT_EQ(versions[1]["estimated"]["hang_ms"], 2000.0);
  EXPECT_EQ(versions[1]["hang_ms_per_hour"], 500.0);
  EXPECT_EQ(
      versions[2],
      (Json{
          {"app", "editor"},
          {"version", "2.0"},
          {"reports", 0},
          {"hangs", 0},
          {"users", 0},
          {"hang_ms", 0.0},
          {"estimated", {{"hang_ms", 0.0}}},
          {"hang_ms_per_hour", 0.0},
          // Three hangs in 6 hours, as long as the mean of the three others: 2 s, 3 s, and 1 s for two users.
          {"hang_ms_per_hour_interval", {{"low", 0.0}, {"high", 1166.667}}},
          {"watched_ms", 6 * 3'600'000.0},
          {"first_seen_ms", kVersionsBeginMs + 4 * kMsPerDay},
          {"last_seen_ms", kVersionsBeginMs + 6 * kMsPerDay},
          {"lags", 0}}));
}

TEST_F(CauseVersionsTest, AreThereOnlyWhenAskedFor) {
  Hang("Save", "1.9", 1, 2000);
  const std::string path = "/v1/clusters/" + KeyOf("Save");
  EXPECT_FALSE(collector_.Get(path).contains("by_version"));
  EXPECT_EQ(collector_.query_api.Get(path, "by=colour").status, 400);
  EXPECT_EQ(ByVersion(KeyOf("Save"))[0]["hang_ms_per_hour"], Json());  // not watched
}

TEST_F(CauseVersionsTest, OfAMergedCauseAreThoseOfAllItsParts) {
  Hang("Save", "1.9", 1, 2000);
  Hang("Load", "1.9", 2, 500);
  Hang("Load", "2.0", 3, 700);
  const std::string save = KeyOf("Save"), load = KeyOf("Load");
  ASSERT_TRUE(AnnotatedCauses(collector_.store.get()).Put({.key = load, .merged_into = save}).ok());
  const Json versions = ByVersion(load);
  ASSERT_THAT(NamesOf(versions), ElementsAre("editor 1.9", "editor 2.0"));
  EXPECT_EQ(versions[0]["hang_ms"], 2500.0);
  EXPECT_EQ(versions[0]["reports"], 2);
  EXPECT_EQ(versions[1]["hang_ms"], 700.0);
}

TEST_F(CauseVersionsTest, AreCountedWithinAFilter) {
  Hang("Save", "1.9", 1, 2000);
  Hang("Save", "1.9", 3, 3000);
  Hang("Save", "2.0", 3, 400);
  Watch("editor", "1.9", 1, 1);
  Watch("editor", "1.9", 3, 2);
  Watch("editor", "2.0", 3, 1);
  Watch("editor", "2.1", 4, 1);
  const std::string key = KeyOf("Save");
  EXPECT_THAT(NamesOf(ByVersion(key, "&version=2.0")), ElementsAre("editor 2.0"));
  const Json of_loop = ByVersion(key, "&loop=ui");
  EXPECT_THAT(NamesOf(of_loop), ElementsAre("editor 1.9", "editor 2.0", "editor 2.1"));
  EXPECT_EQ(of_loop[0]["hang_ms"], 5000.0);
  const Json of_a_day = ByVersion(key, "&from_ms=" + std::to_string(kVersionsBeginMs + 2 * kMsPerDay) +
                                           "&to_ms=" + std::to_string(kVersionsBeginMs + 3 * kMsPerDay));
  EXPECT_THAT(NamesOf(of_a_day), ElementsAre("editor 1.9", "editor 2.0"));
  EXPECT_EQ(of_a_day[0]["hang_ms"], 3000.0);
  EXPECT_EQ(of_a_day[0]["hang_ms_per_hour"], 1500.0);
  const Json of_a_user = ByVersion(key, "&user=u-71");
  EXPECT_THAT(NamesOf(of_a_user), ElementsAre("editor 1.9", "editor 2.0"));
  EXPECT_EQ(of_a_user[0]["watched_ms"], 0.0);
  EXPECT_EQ(of_a_user[0]["hang_ms_per_hour"], Json());
  EXPECT_EQ(of_a_user[0]["hang_ms_per_hour_interval"], Json());
}

// Lost reports count as in the list.
TEST_F(CauseVersionsTest, AddUpToTheCause) {
  Hang("Save", "1.9", 1, 2000, 250'000);
  Hang("Save", "2.0", 2, 1000);
  const report::Losses losses{
      .id = base::CreateUuidV7(1), .app = "editor", .losses = {{report::LossReason::kTooOld, 7, 10, 0}}};
  std::string batch;
  report::AppendToBatch({report::RecordType::kLosses, report::EncodeLosses(losses)}, &batch);
  ASSERT_TRUE(collector_.ingest.Submit(batch).ok());
  const std::string path = "/v1/clusters/" + KeyOf("Save");
  const Json cause = collector_.Get(path, "by=version");
  double estimated_ms = 0;
  for (const Json& version : cause["by_version"])
    estimated_ms += version["estimated"]["hang_ms"].get<double>();
  EXPECT_EQ(cause["estimated"]["hang_ms"], 24'000.0);  // 8 s and 1 s, and ten times 1.5 s
  EXPECT_EQ(estimated_ms, 24'000.0);
}

TEST(CauseVersions, AreNotMoreThanAnybodyLooksAt) {
  std::vector<CauseVersion> versions;
  std::vector<WatchedVersion> watched;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "1." + std::to_string(i);
    if (i < 100) {
      versions.push_back({.app = "editor", .version = name, .sums = {}});
      versions.back().sums.first_seen_ms = versions.back().sums.last_seen_ms = i;
    }
    watched.push_back({"editor", name, 1e9, 100 + i, 100 + i});
  }
  const Json json = CauseVersionsJson(versions, watched);
  ASSERT_EQ(json.size(), 2 * kMaxVersions);
  EXPECT_EQ(json.front()["version"], "1.50");
  EXPECT_EQ(json[kMaxVersions - 1]["version"], "1.99");
  EXPECT_EQ(json[kMaxVersions]["version"], "1.150");
  EXPECT_EQ(json.back()["version"], "1.199");
}

}  // namespace
}  // namespace lagwatch::collector
