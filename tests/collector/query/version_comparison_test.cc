// SPDX-License-Identifier: Apache-2.0
// Two versions side by side, with planted truths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/clock.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using testing::SampleReport;

class VersionComparisonTest : public ::testing::Test {
 protected:
  // Each of another user.
  void Hang(int count, const std::string& innermost, const std::string& version, int64_t hang_ms) {
    for (int i = 0; i < count; ++i) {
      SampleReport report{.stack = {innermost, "Caller"}};
      report.header.id = report.header.hang_id = base::CreateUuidV7(now_ms_);
      const std::string user = "user" + std::to_string(++users_);
      report.header.user = user;
      report.header.app_version = version;
      report.header.elapsed_ns = hang_ms * 1'000'000;
      ASSERT_TRUE(collector_.ingest.Submit(testing::EncodeBatch({report.Encode()})).ok());
    }
  }
  void Watch(const std::string& version, int64_t hours) {
    report::Usage usage{.id = base::CreateUuidV7(now_ms_),
                        .app = "editor",
                        .app_version = version,
                        .begin_wall_ms = static_cast<uint64_t>(now_ms_),
                        .end_wall_ms = static_cast<uint64_t>(now_ms_ + 7)};
    usage.loops = {{"ui", {.watched_ns = hours * 3'600'000'000'000}}};
    std::string batch;
    report::AppendToBatch({report::RecordType::kUsage, testing::EncodeUsage(usage)}, &batch);
    ASSERT_TRUE(collector_.ingest.Submit(batch).ok());
  }
  Json Compare(const std::string& more = "") {
    return collector_.Get("/v1/compare", "baseline=2.3.0&version=2.4.0" + more);
  }
  static std::map<std::string, Json> ByFunction(const Json& comparison) {
    std::map<std::string, Json> causes;
    for (const Json& cause : comparison["causes"]) causes[cause["frames"][0].get<std::string>()] = cause;
    return causes;
  }

  const int64_t now_ms_ = base::SystemClock().WallMs() - 1000;
  int users_ = 0;
  testing::MemoryCollector collector_;
};

// The cause is in both versions; in the first one it is not among those that are compared.
TEST_F(VersionComparisonTest, SaysNothingOfACauseThatAVersionsCutListLacks) {
  Watch("2.3.0", 100);
  Watch("2.4.0", 100);
  for (int i = 0; i < 1000; ++i) Hang(1, "Function" + std::to_string(i), "2.3.0", 3000);
  Hang(1, "Same", "2.3.0", 300);
  Hang(30, "Same", "2.4.0", 3000);
  const std::map<std::string, Json> causes = ByFunction(Compare());
  ASSERT_TRUE(causes.contains("Same"));
  EXPECT_EQ(causes.at("Same").at("change"), Json());
  EXPECT_EQ(causes.at("Same")["baseline"]["hang_ms_per_hour"], Json());
}

TEST_F(VersionComparisonTest, SaysAChangeOnlyWhereTheIntervalsDoNotOverlap) {
  Watch("2.3.0", 100);
  Watch("2.4.0", 50);
  Hang(20, "Same", "2.3.0", 3000);
  Hang(10, "Same", "2.4.0", 3000);
  Hang(4, "PerhapsMore", "2.3.0", 3000);
  Hang(4, "PerhapsMore", "2.4.0", 3000);
  Hang(20, "More", "2.3.0", 3000);
  Hang(40, "More", "2.4.0", 3000);
  Hang(80, "Less", "2.3.0", 3000);
  Hang(5, "Less", "2.4.0", 3000);
  Hang(30, "New", "2.4.0", 3000);
  Hang(1, "PerhapsNew", "2.4.0", 3000);
  Hang(60, "Gone", "2.3.0", 3000);
  Hang(1, "PerhapsGone", "2.3.0", 3000);
  const Json comparison = Compare();
  const std::map<std::string, Json> causes = ByFunction(comparison);
  ASSERT_EQ(causes.size(), 8u) << comparison;
  const std::map<std::string, Json> changes = {{"Same", {}},     {"PerhapsMore", {}}, {"More", "more"},
                                               {"Less", "less"}, {"New", "new"},      {"PerhapsNew", {}},
                                               {"Gone", "gone"}, {"PerhapsGone", {}}};
  for (const auto& [function, change] : changes)
    EXPECT_EQ(causes.at(function).at("change"), change) << function;
  const Json& same = causes.at("Same");
  EXPECT_DOUBLE_EQ(same["baseline"]["hang_ms_per_hour"].get<double>(), 600);
  EXPECT_DOUBLE_EQ(same["version"]["hang_ms_per_hour"].get<double>(), 600);
  EXPECT_EQ(same["version"]["hangs"], 10);
  EXPECT_LT(same["version"]["hang_ms_per_hour_interval"]["low"].get<double>(), 600);
  EXPECT_GT(same["version"]["hang_ms_per_hour_interval"]["high"].get<double>(), 600);
  // The rule of three: 3 hangs of 3 s in 100 hours.
  const Json& fresh = causes.at("New")["baseline"];
  EXPECT_EQ(fresh["hangs"], 0);
  EXPECT_EQ(fresh["hang_ms_per_hour"], 0.0);
  EXPECT_EQ(fresh["hang_ms_per_hour_interval"], (Json{{"low", 0.0}, {"high", 90.0}}));
  // Those that have changed come first.
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(comparison["causes"][i]["change"].is_null(), i >= 4) << i;
  EXPECT_EQ(comparison["baseline"]["watched_ms"], 100 * 3.6e6);
  EXPECT_EQ(comparison["version"]["hangs"], 90);
  EXPECT_EQ(comparison["more_causes"], 0);
  EXPECT_EQ(Compare("&limit=3")["more_causes"], 5);
}

// 60 hangs of one user say no more than one.
TEST_F(VersionComparisonTest, IsNotSureByTheHangsOfOneUser) {
  Watch("2.3.0", 100);
  Watch("2.4.0", 100);
  Hang(2, "Save", "2.3.0", 3000);
  for (int i = 0; i < 8; ++i) {
    users_ = 100;
    Hang(1, "Save", "2.4.0", 3000);
  }
  EXPECT_TRUE(Compare()["causes"][0]["change"].is_null());
}

TEST_F(VersionComparisonTest, JudgesNothingWithoutWatchedTime) {
  Hang(1, "Save", "2.3.0", 3000);
  Hang(50, "Save", "2.4.0", 3000);
  const Json cause = Compare()["causes"][0];
  EXPECT_TRUE(cause["change"].is_null());
  EXPECT_TRUE(cause["version"]["hang_ms_per_hour"].is_null());
  EXPECT_TRUE(cause["version"]["hang_ms_per_hour_interval"].is_null());
  EXPECT_EQ(cause["version"]["hang_ms"], 150'000.0);
}

TEST_F(VersionComparisonTest, RefusesVersionsThatAreNotThere) {
  Hang(1, "Save", "2.3.0", 3000);
  EXPECT_EQ(collector_.query_api.Get("/v1/compare", "baseline=2.3.0").status, 400);
  EXPECT_EQ(collector_.query_api.Get("/v1/compare", "baseline=2.3.0&version=9").status, 404);
  // Nothing of another program.
  EXPECT_EQ(collector_.query_api.Get("/v1/compare", "baseline=2.3.0&version=2.3.0&app=other").status, 404);
}

}  // namespace
}  // namespace lagwatch::collector
