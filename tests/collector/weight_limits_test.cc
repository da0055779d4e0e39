// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/weight_limits.h"

#include <gtest/gtest.h>

namespace lagwatch::collector {
namespace {

constexpr int64_t kWeighedHourNs = WeightBounds::kHourNs;
constexpr int64_t kWeighedAtMs = 20'000 * kMsPerDay;

using Weighed = WeightLimits::Result;

NewRecord ReportOf(const std::string& user, int64_t elapsed_ns, int64_t rate_ppm) {
  NewReport report;
  report.row.kind = "lag";
  report.row.id = report.row.hang_id = base::CreateUuidV7(kWeighedAtMs);
  report.row.user = user;
  report.row.elapsed_ns = elapsed_ns;
  report.row.sample_rate_ppm = rate_ppm;
  return NewRecord(std::move(report));
}

NewRecord EndOf(const base::Uuid& report_id, int64_t duration_ns) {
  return report::HangEnd{.report_id = report_id, .duration_ns = duration_ns};
}

int64_t LengthOf(const NewRecord& end) { return std::get<report::HangEnd>(end).duration_ns; }

const ReportRow& RowOf(const NewRecord& record) { return std::get<NewReport>(record).row; }

TEST(WeightLimits, AnUsualReportCountsAsItSays) {
  WeightLimits limits({});
  NewRecord record = ReportOf("u", 5'000'000'000, 50'000);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &record), Weighed::kAsItSays);
  EXPECT_EQ(RowOf(record).sample_rate_ppm, 50'000);
  EXPECT_EQ(RowOf(record).elapsed_ns, 5'000'000'000);
}

TEST(WeightLimits, ARateIsAsLowAsTheConfigsAtLeast) {
  std::optional<uint64_t> configured;
  WeightLimits limits({}, [&] { return configured; });
  NewRecord record = ReportOf("u", 1, 100);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &record), Weighed::kLess);
  EXPECT_EQ(RowOf(record).sample_rate_ppm, 10'000);
  configured = 200;
  record = ReportOf("u", 1, 100);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &record), Weighed::kLess);
  EXPECT_EQ(RowOf(record).sample_rate_ppm, 200);
  NewUsage usage;
  usage.usage.sample_rate_ppm = 1;
  NewRecord of_usage(usage);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &of_usage), Weighed::kLess);
  const NewUsage& bounded = std::get<NewUsage>(of_usage);
  EXPECT_EQ(bounded.usage.sample_rate_ppm, 200u);
  std::string payload;
  report::AppendSampleRate(report::RecordType::kUsage, 200, &payload);
  EXPECT_EQ(bounded.payload, payload);
}

TEST(WeightLimits, ALongHangStandsForItselfAndForADayAtMost) {
  WeightLimits limits({});
  NewRecord record = ReportOf("u", 29 * 24 * kWeighedHourNs, 50'000);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &record), Weighed::kLess);
  EXPECT_EQ(RowOf(record).elapsed_ns, 24 * kWeighedHourNs);
  EXPECT_EQ(RowOf(record).sample_rate_ppm, 0);
  EXPECT_GT(record.capped_ns, 0.0);
  NewRecord end = EndOf(RowOf(record).id, 29 * 24 * kWeighedHourNs);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &end), Weighed::kLess);
  EXPECT_EQ(LengthOf(end), 24 * kWeighedHourNs);
}

TEST(WeightLimits, AnEndHasTheWeightOfItsReportForAnHour) {
  WeightLimits limits({});
  NewRecord record = ReportOf("u", 1'000'000'000, 10'000);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &record), Weighed::kAsItSays);
  const int64_t two_days_ms = 2 * kMsPerDay;
  NewRecord end = EndOf(RowOf(record).id, 24 * kWeighedHourNs);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs + two_days_ms, &end), Weighed::kLess);
  EXPECT_EQ(LengthOf(end), kWeighedHourNs);
  EXPECT_DOUBLE_EQ(end.capped_ns, 23.0 * kWeighedHourNs * 100);
  NewRecord again = EndOf(RowOf(record).id, 24 * kWeighedHourNs);
  limits.Bound({}, kWeighedAtMs + two_days_ms, &again);
  EXPECT_EQ(again.capped_ns, 0.0);  // each report of a hang has an end
}

TEST(WeightLimits, AUsersEndsShareItsDay) {
  WeightLimits limits({});
  double counted_ns = 0;
  for (int i = 0; i < 200; ++i) {
    NewRecord record = ReportOf("u", 1'000'000, 10'000);
    limits.Bound({.key = "k"}, kWeighedAtMs, &record);
    NewRecord end = EndOf(RowOf(record).id, kWeighedHourNs);
    limits.Bound({.key = "k"}, kWeighedAtMs + 2 * 3'600'000, &end);
    counted_ns += static_cast<double>(LengthOf(end)) * WeightOf(RowOf(record).sample_rate_ppm);
  }
  EXPECT_LE(counted_ns, 124.0 * kWeighedHourNs);
  EXPECT_GE(counted_ns, 120.0 * kWeighedHourNs);
}

TEST(WeightLimits, AnEndIsNoLongerThanTheTimeSinceItsHangBegan) {
  WeightLimits limits({});
  NewRecord record = ReportOf("u", 60'000'000'000, 0);
  limits.Bound({}, kWeighedAtMs, &record);
  NewRecord end = EndOf(RowOf(record).id, 20 * kWeighedHourNs);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &end), Weighed::kLess);
  EXPECT_EQ(LengthOf(end), 60'000'000'000 + WeightBounds().clock_slack_ns);
}

TEST(WeightLimits, AHangIsCountedOnceWithAllItsReportsAndEnds) {
  WeightLimits limits({});
  std::vector<base::Uuid> ids;
  NewRecord first = ReportOf("u", 60'000'000'000, 0);
  const base::Uuid hang_id = RowOf(first).id;
  for (int minute = 1; minute <= 120; ++minute) {
    NewRecord record = ReportOf("u", minute * int64_t{60'000'000'000}, 0);
    std::get<NewReport>(record).row.hang_id = hang_id;
    if (minute == 1) std::get<NewReport>(record).row.id = hang_id;
    EXPECT_EQ(limits.Bound({.key = "k"}, kWeighedAtMs, &record), Weighed::kAsItSays) << minute;
    ids.push_back(RowOf(record).id);
  }
  for (const base::Uuid& id : ids) {
    NewRecord end = EndOf(id, 121 * int64_t{60'000'000'000});
    EXPECT_EQ(limits.Bound({.key = "k"}, kWeighedAtMs + 120 * 60'000, &end), Weighed::kAsItSays);
  }
  NewRecord other = ReportOf("u", 21 * kWeighedHourNs, 0);
  EXPECT_EQ(limits.Bound({.key = "k"}, kWeighedAtMs, &other), Weighed::kAsItSays);
}

TEST(WeightLimits, StrayEndsTakeNothingFromANetworksHangs) {
  WeightLimits limits({});
  const Sender network{.key = "k", .address = "\1\2\3\4", .network = "\1\2\3"};
  int taken = 0;
  for (int i = 0; i < 5000; ++i) {
    NewRecord end = EndOf(base::CreateUuidV7(kWeighedAtMs + i), kWeighedHourNs / 6);
    taken += limits.Bound(network, kWeighedAtMs, &end) == Weighed::kAsItSays ? 1 : 0;
  }
  EXPECT_EQ(taken, 60);
  NewRecord record = ReportOf("honest", 5'000'000'000, 50'000);
  EXPECT_EQ(limits.Bound(network, kWeighedAtMs, &record), Weighed::kAsItSays);
  NewRecord end = EndOf(RowOf(record).id, 60'000'000'000);
  EXPECT_EQ(limits.Bound(network, kWeighedAtMs + 60'000, &end), Weighed::kAsItSays);
  NewRecord longer = EndOf(base::CreateUuidV7(kWeighedAtMs), 2 * kWeighedHourNs);
  EXPECT_EQ(limits.Bound({.network = "other"}, kWeighedAtMs, &longer), Weighed::kLess);
  EXPECT_EQ(LengthOf(longer), kWeighedHourNs / 6);
  EXPECT_DOUBLE_EQ(longer.capped_ns, 2.0 * kWeighedHourNs - kWeighedHourNs / 6);
}

// Behind a load balancer, or after a restart.
TEST(WeightLimits, ALongEndCountsByTheReportThatAnotherCollectorTook) {
  const Sender sender{.key = "k", .network = "n"};
  NewRecord record = ReportOf("u", 60'000'000'000, 50'000);
  WeightLimits({}).Bound(sender, kWeighedAtMs, &record);
  int look_ups = 0;
  WeightLimits other({}, {}, [&](const base::Uuid& id) -> base::Result<std::optional<ReportRow>> {
    ++look_ups;
    return id == RowOf(record).id ? std::optional(RowOf(record)) : std::nullopt;
  });
  const int64_t forty_minutes_ns = kWeighedHourNs * 2 / 3;
  for (int i = 0; i < 2; ++i) {
    NewRecord end = EndOf(RowOf(record).id, forty_minutes_ns);
    EXPECT_EQ(other.Bound(sender, kWeighedAtMs + 39 * 60'000, &end), Weighed::kAsItSays);
    EXPECT_EQ(LengthOf(end), forty_minutes_ns);
  }
  EXPECT_EQ(look_ups, 1);
  NewRecord too_long = EndOf(RowOf(record).id, 5 * kWeighedHourNs);
  EXPECT_EQ(other.Bound(sender, kWeighedAtMs + 39 * 60'000, &too_long), Weighed::kLess);
  EXPECT_LE(LengthOf(too_long), kWeighedHourNs);
}

TEST(WeightLimits, AStoreThatDoesNotAnswerIsNotAskedAtEachEnd) {
  int look_ups = 0;
  WeightLimits limits({}, {}, [&](const base::Uuid&) -> base::Result<std::optional<ReportRow>> {
    ++look_ups;
    return base::Status(base::StatusCode::kUnavailable, "away");
  });
  for (int i = 0; i < 10; ++i) {
    NewRecord end = EndOf(base::CreateUuidV7(kWeighedAtMs + i), kWeighedHourNs);
    EXPECT_EQ(limits.Bound({.network = "n"}, kWeighedAtMs, &end), Weighed::kLess);
  }
  EXPECT_EQ(look_ups, 1);
}

TEST(WeightLimits, OneNetworksReportsDoNotPushOutThoseOfOthers) {
  WeightLimits limits({});
  std::vector<base::Uuid> ids;
  const auto sender = [](int i) { return Sender{.key = "k", .network = "n" + std::to_string(i)}; };
  for (int i = 0; i < 20; ++i) {
    NewRecord record = ReportOf("u" + std::to_string(i), kWeighedHourNs, 0);
    limits.Bound(sender(i), kWeighedAtMs, &record);
    ids.push_back(RowOf(record).id);
  }
  for (int i = 0; i < 220'000; ++i) {
    NewRecord record = ReportOf("stranger", 1, 0);
    limits.Bound({.key = "k", .network = "strange"}, kWeighedAtMs, &record);
  }
  int known = 0;
  for (int i = 0; i < 20; ++i) {
    NewRecord end = EndOf(ids[static_cast<size_t>(i)], kWeighedHourNs);
    known += limits.Bound(sender(i), kWeighedAtMs, &end) == Weighed::kAsItSays ? 1 : 0;
  }
  EXPECT_GE(known, 10);  // those that do not happen to have the stranger's share
}

TEST(WeightLimits, WhatAHangIsCappedByIsSaidOnce) {
  WeightLimits limits({});
  NewRecord first = ReportOf("u", 25 * kWeighedHourNs, 0);
  NewRecord second = ReportOf("u", 26 * kWeighedHourNs, 0);
  std::get<NewReport>(second).row.hang_id = RowOf(first).id;
  limits.Bound({}, kWeighedAtMs, &first);
  limits.Bound({}, kWeighedAtMs, &second);
  NewRecord end = EndOf(RowOf(second).id, 27 * kWeighedHourNs);
  limits.Bound({}, kWeighedAtMs + kMsPerDay / 24, &end);
  EXPECT_DOUBLE_EQ(first.capped_ns + second.capped_ns + end.capped_ns, 3.0 * kWeighedHourNs);
}

TEST(WeightLimits, TheEndOfAClientWhoseClockIsAheadIsNotCut) {
  WeightLimits limits({});
  const int64_t arrival_ms = kWeighedAtMs - 3 * 3'600'000;
  NewRecord record = ReportOf("u", 60'000'000'000, 0);
  limits.Bound({}, arrival_ms, &record);
  NewRecord end = EndOf(RowOf(record).id, kWeighedHourNs);
  EXPECT_EQ(limits.Bound({}, arrival_ms + 3'600'000, &end), Weighed::kAsItSays);
}

TEST(WeightLimits, AReportWhoseEndCameFirstStandsForItself) {
  WeightLimits limits({});
  NewRecord record = ReportOf("u", 1'000'000, 10'000);
  NewRecord end = EndOf(RowOf(record).id, kWeighedHourNs / 6);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &end), Weighed::kAsItSays);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs, &record), Weighed::kLess);
  EXPECT_EQ(RowOf(record).sample_rate_ppm, 0);
}

TEST(WeightLimits, TheEndOfARunCountsAsThatOfItsHang) {
  WeightLimits limits({});
  NewRecord record = ReportOf("u", 1'000'000'000, 10'000);
  limits.Bound({}, kWeighedAtMs, &record);
  report::RunEnd run;
  run.report_id = RowOf(record).id;
  run.hang_ns = 24 * uint64_t{kWeighedHourNs};
  NewRecord end(run);
  EXPECT_EQ(limits.Bound({}, kWeighedAtMs + kMsPerDay, &end), Weighed::kLess);
  EXPECT_EQ(std::get<report::RunEnd>(end).hang_ns, uint64_t{kWeighedHourNs});
}

TEST(SenderParts, NamesBeyondThoseWithAPartOfTheirOwnShareOne) {
  SenderParts parts(10);
  for (uint64_t name = 0; name < 100'000; ++name) parts.Of(name)->counted_ns += 1;
  EXPECT_EQ(parts.Of(5)->counted_ns, 1);
  int64_t shared_ns = 0;
  for (uint64_t name = 10; name < 10 + SenderParts::kSharedPlaces; ++name)
    shared_ns += parts.Of(name)->counted_ns;
  EXPECT_EQ(shared_ns, 100'000 - 10);  // none is without bounds
  EXPECT_NEAR(static_cast<double>(parts.Sharing()), 99'990, 9'999);
  parts.Clear();
  EXPECT_EQ(parts.Sharing(), 0);
}

TEST(OpenHangs, TheOldestAreForgotten) {
  OpenHangs hangs(100);
  std::vector<base::Uuid> ids;
  for (int i = 0; i < 1000; ++i) {
    ids.push_back(base::CreateUuidV7(kWeighedAtMs + i));
    bool is_new = false;
    hangs.Add(ids.back(), ids.back(), {.counted_ns = i}, &is_new);
    EXPECT_TRUE(is_new);
  }
  EXPECT_EQ(hangs.Find(ids[0]), nullptr);
  ASSERT_NE(hangs.Find(ids[950]), nullptr);
  EXPECT_EQ(hangs.Find(ids[950])->counted_ns, 950);
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
  EXPECT_EQ(limits.Bound({.key = "k"}, kWeighedAtMs, &of_other), Weighed::kAsItSays);
  NewRecord tomorrow = ReportOf("u", kWeighedHourNs / 2, 50'000);
  EXPECT_EQ(limits.Bound({.key = "k"}, kWeighedAtMs + kMsPerDay, &tomorrow), Weighed::kAsItSays);
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
