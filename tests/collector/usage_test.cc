// SPDX-License-Identifier: Apache-2.0
// From a client's usage records to the rates of lags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/ingest/report_limits.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using testing::EncodeUsage;
using testing::MemoryCollector;

constexpr int64_t kHourNs = 3'600'000'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;

std::string BatchOf(const std::vector<report::Usage>& usages) {
  std::string batch;
  for (const report::Usage& usage : usages)
    report::AppendToBatch({report::RecordType::kUsage, EncodeUsage(usage)}, &batch);
  return batch;
}

report::Usage UsageOf(const std::string& user, int64_t hours, int64_t lagged_s) {
  static int64_t count = 0;
  base::Uuid id = base::CreateUuidV7(1'700'000'000'000 + ++count);
  policies::LoopUsage ui{.watched_ns = hours * kHourNs,
                         .dispatches = 1000,
                         .untimed_dispatches = 10,
                         .lags = static_cast<uint64_t>(lagged_s != 0),
                         .lagged_ns = lagged_s * kSecondNs};
  ui.durations.counts = {980, 10};
  return {.id = id,
          .session_id = id,
          .app = "editor",
          .app_version = "2.3.1",
          .user = user,
          .begin_wall_ms = 1'700'000'000'000,
          .end_wall_ms = 1'700'003'600'000,
          .loops = {{"ui", ui}}};
}

TEST(Usage, TellsTheHangRateOfAVersionAndOfItsUsers) {
  MemoryCollector collector;
  std::vector<report::Usage> usages;
  // Nine users without a lag, one of many; half a minute in three hours of the one between.
  for (int i = 0; i < 8; ++i) usages.push_back(UsageOf("quiet " + std::to_string(i), 1, 0));
  usages.push_back(UsageOf("between", 2, 10));
  usages.push_back(UsageOf("between", 1, 20));
  usages.push_back(UsageOf("", 1, 60));
  ASSERT_EQ(collector.ingest.Submit(BatchOf(usages))->accepted, 11);
  Json answer = collector.Get("/v1/usage");
  ASSERT_EQ(answer.size(), 1u);
  const Json& editor = answer[0];
  EXPECT_EQ(editor["app"], "editor");
  EXPECT_EQ(editor["version"], "2.3.1");
  EXPECT_EQ(editor["users"], 10);
  EXPECT_EQ(editor["runs"], 11);
  EXPECT_EQ(editor["watched_ms"], 12.0 * 3'600'000);
  EXPECT_EQ(editor["dispatches"], 11'000);
  EXPECT_EQ(editor["untimed_dispatches"], 110);
  EXPECT_EQ(editor["lags"], 3);
  EXPECT_EQ(editor["lagged_ms"], 90'000.0);
  EXPECT_EQ(editor["lagged_ms_per_hour"]["all"], 7'500.0);
  EXPECT_EQ(editor["lagged_ms_per_hour"]["p50"], 0.0);
  EXPECT_EQ(editor["lagged_ms_per_hour"]["p90"], 10'000.0);
  EXPECT_EQ(editor["durations"].dump(), R"([{"from_ms":0,"count":10780},{"from_ms":1,"count":110}])");
  ASSERT_EQ(editor["loops"].size(), 1u);
  EXPECT_EQ(editor["loops"][0]["loop"], "ui");
  EXPECT_EQ(editor["loops"][0]["watched_ms"], editor["watched_ms"]);
  ASSERT_EQ(editor["worst_users"].size(), 9u);
  EXPECT_EQ(editor["worst_users"][0]["user"], "between");
  EXPECT_EQ(editor["worst_users"][0]["lagged_ms"], 30'000.0);
  EXPECT_EQ(editor["worst_users"][0]["lagged_ms_per_hour"], 10'000.0);
  Json one = collector.Get("/v1/usage", "user=between");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["users"], 1);
  EXPECT_EQ(one[0]["watched_ms"], 3.0 * 3'600'000);
  EXPECT_EQ(editor["first_seen_ms"], 1'700'000'000'000);
  EXPECT_EQ(editor["last_seen_ms"], 1'700'003'600'000);
}

TEST(Usage, CountsARecordOnceHoweverOftenItComes) {
  MemoryCollector collector;
  report::Usage usage = UsageOf("u", 1, 5);
  EXPECT_TRUE(collector.ingest.Submit(BatchOf({usage})).ok());
  // A killed run's next start may tell less of the same period.
  usage.loops[0].usage.watched_ns /= 2;
  auto again = collector.ingest.Submit(BatchOf({usage}));
  EXPECT_EQ(again->accepted, 0);
  EXPECT_EQ(again->duplicates, 1);
  EXPECT_EQ(collector.Get("/v1/usage")[0]["watched_ms"], 3'600'000.0);
}

TEST(Usage, TellsVersionsApartAndFiltersThem) {
  MemoryCollector collector;
  report::Usage old_version = UsageOf("u", 1, 0);
  report::Usage new_version = UsageOf("u", 3, 0);
  new_version.app_version = "3.0";
  report::Usage other = UsageOf("u", 2, 0);
  other.app = "viewer";
  EXPECT_TRUE(collector.ingest.Submit(BatchOf({old_version, new_version, other})).ok());
  Json all = collector.Get("/v1/usage");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["version"], "3.0");
  EXPECT_EQ(all[1]["app"], "viewer");
  EXPECT_EQ(collector.Get("/v1/usage", "limit=1").size(), 1u);
  EXPECT_EQ(collector.Get("/v1/usage", "app=viewer").size(), 1u);
  Json filtered = collector.Get("/v1/usage", "app=editor&version=2.3.1");
  ASSERT_EQ(filtered.size(), 1u);
  EXPECT_EQ(filtered[0]["watched_ms"], 3'600'000.0);
  EXPECT_EQ(collector.Get("/v1/usage", "app=none"), Json::array());
  EXPECT_EQ(collector.Get("/v1/usage", "limit=no")["error"]["code"], "invalid");
}

TEST(Usage, ShowsWhatWasSlowAndWhatIsNotReported) {
  MemoryCollector collector;
  report::Usage usage = UsageOf("u", 1, 0);
  for (int i = 0; i < 30; ++i) {
    usage.slow.push_back({"ui",
                          "tag " + std::to_string(i),
                          {.count = 1, .total_ns = (i + 1) * kSecondNs, .longest_ns = kSecondNs}});
  }
  usage.suppressed = {{policies::SuppressedReason::kUnchangedStack, 3},
                      {policies::SuppressedReason::kStopped, 1}};
  report::Usage more = UsageOf("u", 1, 0);
  more.suppressed = {{policies::SuppressedReason::kUnchangedStack, 4}};
  more.slow.push_back({"ui", "tag 29", {.count = 2, .total_ns = 3 * kSecondNs, .longest_ns = 2 * kSecondNs}});
  EXPECT_TRUE(collector.ingest.Submit(BatchOf({usage, more})).ok());
  Json editor = collector.Get("/v1/usage")[0];
  EXPECT_EQ(editor["suppressed"].dump(), R"({"unchanged-stack":7,"stopped":1})");
  ASSERT_EQ(editor["slow"].size(), 20u);
  EXPECT_EQ(editor["slow"][0]["tag"], "tag 29");
  EXPECT_EQ(editor["slow"][0]["count"], 3);
  EXPECT_EQ(editor["slow"][0]["total_ms"], 33'000.0);
  EXPECT_EQ(editor["slow"][0]["longest_ms"], 2'000.0);
}

TEST(Usage, SurvivesWhatNoHonestClientSends) {
  MemoryCollector collector;
  report::Usage hostile = UsageOf("u", 1, 0);
  policies::LoopUsage& most = hostile.loops[0].usage;
  most = {INT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, INT64_MAX, {}};
  most.durations.counts.fill(UINT64_MAX);
  report::Usage second = hostile;
  second.id = base::CreateUuidV7(1);
  hostile.suppressed = second.suppressed = {{policies::SuppressedReason::kUnknown, UINT64_MAX}};
  EXPECT_EQ(collector.ingest.Submit(BatchOf({hostile, second}))->accepted, 2);
  EXPECT_EQ(collector.Get("/v1/usage")[0]["dispatches"], UINT64_MAX);
  report::Usage empty{.id = base::CreateUuidV7(2)};
  EXPECT_EQ(collector.ingest.Submit(BatchOf({empty}))->accepted, 1);
  EXPECT_EQ(collector.Get("/v1/usage").size(), 2u);

  report::Usage endless = UsageOf("u", 1, 0);
  endless.loops[0].loop.assign(kMaxTextBytes + 1, 'x');
  EXPECT_FALSE(collector.ingest.Submit(BatchOf({endless})).ok());
  report::Usage many = UsageOf("u", 1, 0);
  many.slow.resize(kMaxUsageEntries, {"ui", "tag", {.count = 1}});
  EXPECT_FALSE(collector.ingest.Submit(BatchOf({many})).ok());
  std::string batch;
  report::AppendToBatch({report::RecordType::kUsage, "no usage"}, &batch);
  EXPECT_FALSE(collector.ingest.Submit(batch).ok());
}

}  // namespace
}  // namespace lagwatch::collector
