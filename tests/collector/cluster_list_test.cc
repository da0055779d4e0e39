// SPDX-License-Identifier: Apache-2.0
// What a list of clusters has besides their sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::MemoryCollector;
using testing::SampleReport;

class ClusterListTest : public ::testing::Test {
 protected:
  // Of that many days ago, told for `weight` users.
  void Lag(std::vector<std::string> stack, int64_t days_ago, int64_t hang_ms, uint32_t weight = 1) {
    SampleReport report{.stack = std::move(stack)};
    report.header.id = report.header.lag_id = base::CreateUuidV7(BeginOf(days_ago) + 1);
    report.header.elapsed_ns = hang_ms * 1'000'000;
    std::string encoded = report.Encode();
    report::AppendSampleRate(report::RecordType::kReport, 1'000'000 / weight, &encoded);
    ASSERT_TRUE(collector_.ingest.Submit(testing::EncodeBatch({encoded})).ok());
  }
  int64_t BeginOf(int64_t days_ago) const { return (today_ - days_ago) * kMsPerDay; }
  Json DaysOf(const std::string& innermost, const std::string& query) {
    for (const Json& cause : collector_.Get("/v1/clusters", query)) {
      if (cause["frames"][0] == innermost) return cause["days"];
    }
    return "no such cluster";
  }
  static Json Day(int64_t begin_ms, double hang_ms) { return {{"begin_ms", begin_ms}, {"hang_ms", hang_ms}}; }

  const int64_t today_ = base::SystemClock().WallMs() / kMsPerDay;
  MemoryCollector collector_;
};

TEST_F(ClusterListTest, HasTheLastDaysOfEach) {
  Lag({"Save", "OnSave"}, 2, 1000, 4);
  Lag({"Save", "OnSave"}, 2, 500);
  Lag({"Save", "OnSave"}, 5, 3000);
  Lag({"Save", "OnSave"}, 40, 9000);
  Lag({"Load", "OnLoad"}, 5, 100);
  const Json day2 = Day(BeginOf(2), 4500), day5 = Day(BeginOf(5), 3000), day40 = Day(BeginOf(40), 9000);
  EXPECT_EQ(DaysOf("Save", "days=20"), Json::array({day5, day2}));
  EXPECT_EQ(DaysOf("Load", "days=20"), Json::array({Day(BeginOf(5), 100)}));
  EXPECT_EQ(DaysOf("Save", "days=90"), Json::array({day40, day5, day2}));
  EXPECT_EQ(DaysOf("Save", "days=4"), Json::array({day2}));
  EXPECT_EQ(DaysOf("Load", "days=1"), Json::array());
  EXPECT_EQ(DaysOf("Save", "days=20&level=2"), Json::array({day5, day2}));
  EXPECT_EQ(DaysOf("Save", "days=20&version=2.3.1"), Json::array({day5, day2}));
}

TEST_F(ClusterListTest, HasNoDaysUnlessAskedFor) {
  Lag({"Save", "OnSave"}, 2, 1000);
  EXPECT_FALSE(collector_.Get("/v1/clusters")[0].contains("days"));
  const Json cause = collector_.Get("/v1/clusters", "days=3")[0];
  EXPECT_FALSE(cause["children"][0].contains("days"));
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "days=91").status, 400);
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "days=-1").status, 400);
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "days=3&format=csv").status, 200);
}

TEST_F(ClusterListTest, HasTheDaysOfAllThatIsMerged) {
  Lag({"Save", "OnSave"}, 2, 1000);
  Lag({"Load", "OnLoad"}, 2, 100);
  Lag({"Load", "OnLoad"}, 3, 10);
  std::map<std::string, std::string> keys;
  for (const Json& cause : collector_.Get("/v1/clusters")) keys[cause["frames"][0]] = cause["key"];
  ASSERT_TRUE(CauseBook(collector_.store.get()).Put({.key = keys["Load"], .merged_into = keys["Save"]}).ok());
  EXPECT_EQ(DaysOf("Save", "days=5"), Json::array({Day(BeginOf(3), 10), Day(BeginOf(2), 1100)}));
}

}  // namespace
}  // namespace lagwatch::collector
