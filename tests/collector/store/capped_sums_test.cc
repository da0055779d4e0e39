// SPDX-License-Identifier: Apache-2.0
// The sums of causes have the time that does not count of reports beyond the limits.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using testing::EncodeEnd;
using testing::MemoryCollector;
using testing::SampleReport;

constexpr int64_t kCappedHourNs = WeightBounds::kHourNs;
constexpr double kCappedHourMs = 3'600'000;

class CappedSums : public ::testing::Test {
 protected:
  CappedSums() { collector_.ingest.BoundBy({}, &weights_); }

  // Of a hang that began so long ago.
  static SampleReport ReportOf(const std::vector<std::string>& stack, int64_t begun_ms = 0) {
    SampleReport report;
    const int64_t wall_ms = base::SystemClock().WallMs() - begun_ms;
    report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
    report.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
    report.header.elapsed_ns = 1'000'000'000;
    report.stack = stack;
    return report;
  }
  void Submit(const SampleReport& report, uint32_t rate_ppm = 0, const std::vector<std::string>& ends = {}) {
    std::string encoded = report.Encode();
    if (rate_ppm != 0) report::AppendSampleRate(report::RecordType::kReport, rate_ppm, &encoded);
    ASSERT_TRUE(collector_.ingest.Submit(testing::EncodeBatch({encoded}, ends)).ok());
  }
  Json Capped(const std::string& query = "") const {
    return collector_.Get("/v1/clusters", query).at(0).at("capped");
  }
  double WeightedHours() const {
    return collector_.store->Causes({}).value().all.sums.weighted_hang_ns / kCappedHourNs;
  }

  WeightLimits weights_{WeightBounds()};
  MemoryCollector collector_;
};

TEST_F(CappedSums, ACauseSaysHowMuchDoesNotCount) {
  Submit(ReportOf({"Usual", "main"}));
  EXPECT_EQ(Capped(), Json({{"reports", 0}, {"hang_ms", 0.0}}));
  SampleReport month = ReportOf({"Month", "main"});
  month.header.elapsed_ns = 30 * 24 * kCappedHourNs;
  month.header.user = "u-2";
  Submit(month);
  const Json capped = Capped();
  EXPECT_EQ(capped.at("reports"), 1);
  EXPECT_DOUBLE_EQ(capped.at("hang_ms"), 29 * 24 * kCappedHourMs);
  EXPECT_EQ(Capped("user=" + std::string(month.header.user)), capped);  // summed up report by report
  EXPECT_EQ(collector_.Get("/v1/clusters").at(0).at("children").at(0).at("capped"), capped);
  ASSERT_EQ(collector_.store->RemoveBefore(DayOf(month.header.id) + 1, 1000).value(), 2);
  SampleReport other = ReportOf({"Month", "main"});
  other.header.user = "u-3";
  Submit(other);
  EXPECT_EQ(Capped().at("reports"), 0);
}

TEST_F(CappedSums, AnEndIsCutToAnHourWithTheWeightOfItsReport) {
  const SampleReport report = ReportOf({"Leaf", "main"}, kMsPerDay);
  Submit(report, 10'000, {EncodeEnd(report.header.id, 24 * kCappedHourNs)});
  EXPECT_DOUBLE_EQ(WeightedHours(), 100);
  EXPECT_EQ(Capped().at("reports"), 1);
  EXPECT_DOUBLE_EQ(Capped().at("hang_ms"), 23 * 100 * kCappedHourMs);
}

// Neither way round.
TEST_F(CappedSums, AHangHasTheLeastWeightOfItsReports) {
  for (const bool is_weighted_first : {true, false}) {
    const SampleReport first = ReportOf({"Leaf", "main"}, kMsPerDay);
    SampleReport second = ReportOf({"Leaf", "main"}, kMsPerDay);
    second.header.hang_id = first.header.id;
    second.header.ordinal = 1;
    second.header.elapsed_ns += 1;
    Submit(first, is_weighted_first ? 10'000 : 0, {EncodeEnd(first.header.id, kCappedHourNs / 2)});
    Submit(second, is_weighted_first ? 0 : 10'000);
  }
  EXPECT_DOUBLE_EQ(WeightedHours(), 1);
}

TEST_F(CappedSums, ALongEndOfAnUnknownReportIsCut) {
  const SampleReport report = ReportOf({"Leaf", "main"});
  const auto result =
      collector_.ingest.Submit(testing::EncodeBatch({}, {EncodeEnd(report.header.id, kCappedHourNs)}));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->accepted, 1);
  EXPECT_EQ(result->bounded, 1);
  Submit(report);
  EXPECT_DOUBLE_EQ(WeightedHours() * 6, 1);
}

}  // namespace
}  // namespace lagwatch::collector
