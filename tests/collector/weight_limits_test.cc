// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/weight_limits.h"

#include <gtest/gtest.h>

namespace lagwatch::collector {
namespace {

constexpr int64_t kWeighedHourNs = WeightBounds::kHourNs;
constexpr int64_t kWeighedAtMs = 20'000 * kMsPerDay;

NewRecord ReportOf(const std::string& user, int64_t elapsed_ns, int64_t rate_ppm) {
  NewReport report;
  report.row.kind = "lag";
  report.row.user = user;
  report.row.elapsed_ns = elapsed_ns;
  report.row.sample_rate_ppm = rate_ppm;
  return NewRecord(std::move(report));
}

const ReportRow& RowOf(const NewRecord& record) { return std::get<NewReport>(record).row; }

TEST(WeightLimits, AnUsualReportCountsAsItSays) {
  WeightLimits limits({});
  NewRecord record = ReportOf("u", 5'000'000'000, 50'000);
  EXPECT_FALSE(limits.Bound({}, kWeighedAtMs, &record));
  EXPECT_EQ(RowOf(record).sample_rate_ppm, 50'000);
  EXPECT_EQ(RowOf(record).elapsed_ns, 5'000'000'000);
}

TEST(WeightLimits, ARateIsAsLowAsTheConfigsAtLeast) {
  std::optional<uint64_t> configured;
  WeightLimits limits({}, [&] { return configured; });
  NewRecord record = ReportOf("u", 1, 100);
  EXPECT_TRUE(limits.Bound({}, kWeighedAtMs, &record));
  EXPECT_EQ(RowOf(record).sample_rate_ppm, 10'000);
  configured = 200;
  record = ReportOf("u", 1, 100);
  EXPECT_TRUE(limits.Bound({}, kWeighedAtMs, &record));
  EXPECT_EQ(RowOf(record).sample_rate_ppm, 200);
  NewUsage usage;
  usage.usage.sample_rate_ppm = 1;
  NewRecord of_usage(usage);
  EXPECT_TRUE(limits.Bound({}, kWeighedAtMs, &of_usage));
  const NewUsage& bounded = std::get<NewUsage>(of_usage);
  EXPECT_EQ(bounded.usage.sample_rate_ppm, 200u);
  std::string payload;
  report::AppendSampleRate(report::RecordType::kUsage, 200, &payload);
  EXPECT_EQ(bounded.payload, payload);
}

TEST(WeightLimits, ALongHangStandsForItselfAndForADayAtMost) {
  WeightLimits limits({});
  NewRecord record = ReportOf("u", 29 * 24 * kWeighedHourNs, 50'000);
  EXPECT_TRUE(limits.Bound({}, kWeighedAtMs, &record));
  EXPECT_EQ(RowOf(record).elapsed_ns, 24 * kWeighedHourNs);
  EXPECT_EQ(RowOf(record).sample_rate_ppm, 0);
  NewRecord end(report::HangEnd{.report_id = {}, .duration_ns = 29 * 24 * uint64_t{kWeighedHourNs}});
  EXPECT_TRUE(limits.Bound({}, kWeighedAtMs, &end));
  EXPECT_EQ(std::get<report::HangEnd>(end).duration_ns, 24 * uint64_t{kWeighedHourNs});
}

TEST(WeightLimits, AUserHasADaysPart) {
  WeightLimits limits({});
  int extrapolated = 0;
  int64_t counted_ns = 0;
  for (int i = 0; i < 100; ++i) {
    NewRecord record = ReportOf("u", kWeighedHourNs / 2, 50'000);
    limits.Bound({.key = "k"}, kWeighedAtMs, &record);
    extrapolated += RowOf(record).sample_rate_ppm != 0 ? 1 : 0;
    counted_ns += RowOf(record).elapsed_ns;
  }
  EXPECT_EQ(extrapolated, 2);
  EXPECT_EQ(counted_ns, 24 * kWeighedHourNs);
  NewRecord of_other = ReportOf("v", kWeighedHourNs / 2, 50'000);
  EXPECT_FALSE(limits.Bound({.key = "k"}, kWeighedAtMs, &of_other));
  NewRecord tomorrow = ReportOf("u", kWeighedHourNs / 2, 50'000);
  EXPECT_FALSE(limits.Bound({.key = "k"}, kWeighedAtMs + kMsPerDay, &tomorrow));
}

TEST(WeightLimits, ANetworkHasADaysPartHoweverManyUsersItInvents) {
  WeightLimits limits({});
  const Sender sender{.key = "k", .address = "\1\2\3\4", .network = "\1\2\3"};
  int64_t counted_ns = 0;
  for (int i = 0; i < 1000; ++i) {
    NewRecord record = ReportOf("u" + std::to_string(i), kWeighedHourNs, 1);
    limits.Bound(sender, kWeighedAtMs, &record);
    const double weight = WeightOf(RowOf(record).sample_rate_ppm);
    counted_ns += static_cast<int64_t>(static_cast<double>(RowOf(record).elapsed_ns) * weight);
  }
  EXPECT_LE(counted_ns, (240 + 10 * 100) * kWeighedHourNs);
}

}  // namespace
}  // namespace lagwatch::collector
