// SPDX-License-Identifier: Apache-2.0
// Reports of programs that may have so many in a day.
#include "collector/ingest/app_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "collector/http/server/metrics.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;
using testing::MemoryCollector;
using testing::SampleReport;

class AppQuotaTest : public ::testing::Test {
 protected:
  static SampleReport ReportOf(const char* app) {
    SampleReport report;
    report.header.app = app;
    return report;
  }
  IngestResult Submit(const std::vector<std::string>& reports) {
    auto result = ingest_.Submit(testing::EncodeBatch(reports), {.key = "key"});
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : IngestResult();
  }
  std::vector<std::string> Some(const char* app, int count) {
    std::vector<std::string> reports;
    for (int i = 0; i < count; ++i) reports.push_back(ReportOf(app).Encode());
    return reports;
  }
  size_t Stored(const char* app) { return collector_.store->Reports({.app = app}, 1000)->size(); }

  MemoryCollector collector_;
  AppQuota quota_{AppQuota::Limits{{"editor", 5}}};
  Ingest ingest_{collector_.store.get(), Clusterer::Create("").value(), nullptr, {}, {}, {}, {}, &quota_};
};

TEST_F(AppQuotaTest, WhatIsOverIsRejectedAloneAndCounted) {
  const IngestResult some = Submit(Some("editor", 7));
  EXPECT_EQ(some.accepted, 5);
  EXPECT_EQ(some.rejected, 2);
  EXPECT_EQ(some.over_quota, 2);
  EXPECT_THAT(some.records.back().why, HasSubstr("no more reports of this program today"));
  EXPECT_TRUE(some.records.back().is_over_quota);
  // A batch of nothing else is not malformed.
  EXPECT_EQ(Submit(Some("editor", 3)).over_quota, 3);
  EXPECT_EQ(Submit(Some("player", 9)).accepted, 9);
  EXPECT_EQ(Stored("editor"), 5u);
  EXPECT_EQ(Stored("player"), 9u);
  const AppQuota::Use use = quota_.Uses(base::SystemClock().WallMs())["editor"];
  EXPECT_EQ(use.today, 5);
  EXPECT_EQ(use.refused_today, 5);
}

TEST_F(AppQuotaTest, WhatIsKnownOrMalformedTakesNothing) {
  const std::vector<std::string> first = Some("editor", 2);
  EXPECT_EQ(Submit(first).accepted, 2);
  EXPECT_EQ(Submit(first).duplicates, 2);
  EXPECT_EQ(Submit({"no report", Some("editor", 1)[0]}).accepted, 1);
  EXPECT_EQ(Submit(Some("editor", 3)).accepted, 2);
}

TEST_F(AppQuotaTest, OtherRecordsOfTheProgramAreTaken) {
  EXPECT_EQ(Submit(Some("editor", 5)).accepted, 5);
  std::string batch;
  const base::Uuid id = base::CreateUuidV7(base::SystemClock().WallMs());
  report::AppendToBatch(
      {report::RecordType::kUsage,
       testing::EncodeUsage({.id = id, .session_id = id, .app = "editor", .app_version = "1.0"})},
      &batch);
  EXPECT_EQ(ingest_.Submit(batch)->accepted, 1);
}

TEST(AppQuota, BeginsAnewEachDay) {
  AppQuota quota(AppQuota::Limits{{"editor", 1}});
  EXPECT_TRUE(quota.TryTake("editor", 0));
  EXPECT_FALSE(quota.TryTake("editor", kMsPerDay - 1));
  EXPECT_TRUE(quota.TryTake("player", kMsPerDay - 1));
  EXPECT_EQ(quota.Uses(kMsPerDay - 1)["editor"].refused_today, 1);
  EXPECT_EQ(quota.Uses(kMsPerDay)["editor"].refused_today, 0);
  EXPECT_EQ(quota.Uses(kMsPerDay)["editor"].refused, 1);
  EXPECT_TRUE(quota.TryTake("editor", kMsPerDay));
  quota.GiveBack("editor", kMsPerDay);
  EXPECT_TRUE(quota.TryTake("editor", kMsPerDay));
}

TEST_F(AppQuotaTest, UsageAndMetricsTellOfIt) {
  std::string batch;
  for (const char* app : {"editor", "player"}) {
    const base::Uuid id = base::CreateUuidV7(base::SystemClock().WallMs());
    report::AppendToBatch(
        {report::RecordType::kUsage,
         testing::EncodeUsage({.id = id, .session_id = id, .app = app, .app_version = "1.0"})},
        &batch);
  }
  ASSERT_EQ(ingest_.Submit(batch)->accepted, 2);
  const IngestResult some = Submit(Some("editor", 7));
  const QueryApi query_api(collector_.store.get(), Clusterer::Create("")->rules(), nullptr, &quota_);
  for (const Json& entry : Json::parse(query_api.Get("/v1/usage", "").body)) {
    const Json quota = entry["app"] == "editor"
                           ? Json{{"reports_a_day", 5}, {"reports_today", 5}, {"refused_today", 2}}
                           : Json();
    EXPECT_EQ(entry.value("quota", Json()), quota);
  }
  EXPECT_THAT(query_api.Get("/v1/usage", "format=csv").body, HasSubstr("quota.refused_today"));
  Metrics metrics;
  metrics.CountRecords(some);
  metrics.SetAppQuotas(quota_.Uses(base::SystemClock().WallMs()));
  const std::string text = metrics.ToText();
  EXPECT_THAT(text, HasSubstr("lagwatch_records_total{result=\"over_quota\"} 2"));
  EXPECT_THAT(text, HasSubstr("lagwatch_records_total{result=\"rejected\"} 0"));
  EXPECT_THAT(text, HasSubstr("lagwatch_app_quota_reports{app=\"editor\",what=\"refused_today\"} 2"));
}

}  // namespace
}  // namespace lagwatch::collector
