// SPDX-License-Identifier: Apache-2.0
// From a client's usage records to the rates of hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collector/ingest/report_limits.h"
#include "collector/query/usage_values.h"
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

report::Usage UsageOf(const std::string& user, int64_t hours, int64_t hang_s) {
  static int64_t count = 0;
  base::Uuid id = base::CreateUuidV7(1'700'000'000'000 + ++count);
  policies::LoopUsage ui{.watched_ns = hours * kHourNs,
                         .dispatches = 1000,
                         .untimed_dispatches = 10,
                         .hangs = static_cast<uint64_t>(hang_s != 0),
                         .hang_ns = hang_s * kSecondNs};
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
  // Nine users without a hang, one of many; half a minute in three hours of the one between.
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
  EXPECT_EQ(editor["hangs"], 3);
  EXPECT_EQ(editor["hang_ms"], 90'000.0);
  EXPECT_EQ(editor["hang_ms_per_hour"]["all"], 7'500.0);
  EXPECT_EQ(editor["hang_ms_per_hour"]["p50"], 0.0);
  EXPECT_EQ(editor["hang_ms_per_hour"]["p90"], 10'000.0);
  EXPECT_EQ(editor["durations"].dump(), R"([{"from_ms":0,"count":10780},{"from_ms":1,"count":110}])");
  ASSERT_EQ(editor["loops"].size(), 1u);
  EXPECT_EQ(editor["loops"][0]["loop"], "ui");
  EXPECT_EQ(editor["loops"][0]["watched_ms"], editor["watched_ms"]);
  ASSERT_EQ(editor["worst_users"].size(), 9u);
  EXPECT_EQ(editor["worst_users"][0]["user"], "between");
  EXPECT_EQ(editor["worst_users"][0]["hang_ms"], 30'000.0);
  EXPECT_EQ(editor["worst_users"][0]["hang_ms_per_hour"], 10'000.0);
  Json one = collector.Get("/v1/usage", "user=between");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["users"], 1);
  EXPECT_EQ(one[0]["watched_ms"], 3.0 * 3'600'000);
  EXPECT_EQ(editor["first_seen_ms"], 1'700'000'000'000);
  EXPECT_EQ(editor["last_seen_ms"], 1'700'003'600'000);
}

TEST(Usage, TellsWhatHangInTheBackground) {
  MemoryCollector collector;
  report::Usage first = UsageOf("u", 2, 90);
  first.loops[0].usage.background = {.watched_ns = kHourNs, .hangs = 1, .hang_ns = 60 * kSecondNs};
  report::Usage second = UsageOf("v", 2, 0);
  second.loops[0].usage.background = {.watched_ns = kHourNs};
  EXPECT_TRUE(collector.ingest.Submit(BatchOf({first, second})).ok());
  const Json editor = collector.Get("/v1/usage")[0];
  EXPECT_EQ(editor["hang_ms"], 90'000.0);
  EXPECT_EQ(editor["background"], Json::parse(R"({"watched_ms": 7200000, "hangs": 1, "hang_ms": 60000,
                                                  "hang_ms_per_hour": 30000, "lags": 1, "lagged_ms": 60000,
                                                  "lagged_ms_per_hour": 30000})"));
  EXPECT_EQ(editor["loops"][0]["background"], editor["background"]);
  EXPECT_TRUE(collector.Get("/v1/usage", "app=none").empty());
}

TEST(Usage, CountsARecordOnceHoweverOftenItComes) {
  MemoryCollector collector;
  report::Usage usage = UsageOf("u", 1, 5);
  EXPECT_TRUE(collector.ingest.Submit(BatchOf({usage})).ok());
  // A killed run's next start may report less of the same period.
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

std::string SampledBatchOf(const std::vector<std::pair<report::Usage, uint32_t>>& usages) {
  std::string batch;
  for (const auto& [usage, sample_rate_ppm] : usages) {
    std::string encoded = EncodeUsage(usage);
    report::AppendSampleRate(report::RecordType::kUsage, sample_rate_ppm, &encoded);
    report::AppendToBatch({report::RecordType::kUsage, encoded}, &batch);
  }
  return batch;
}

// By hand: hours and hang seconds of each, and for how many they stand.
//   a  1 h   0 s  x 1     b  1 h  10 s  x 20    c  2 h  60 s  x 4    d  1 h  90 s  x 1, and 1 h  0 s  x 5
// All: 0 + 200 + 240 + 90 + 0 = 530 s in 1 + 20 + 8 + 1 + 5 = 35 h, or 15.142857 s an hour.
// Users: a 0 x 1, b 10 x 20, c 30 x 4, d 45 x 3 (1 and 5 in as many hours): 28. Up to b they are 21, and the
// 14th is among them; up to c they are 25, fewer than 90 %.
TEST(Usage, ASampledUserStandsForThoseThatAreNot) {
  MemoryCollector collector;
  const std::vector<std::pair<report::Usage, uint32_t>> usages = {{UsageOf("a", 1, 0), 0},
                                                                  {UsageOf("b", 1, 10), 50'000},
                                                                  {UsageOf("c", 2, 60), 250'000},
                                                                  {UsageOf("d", 1, 90), 1'000'000},
                                                                  {UsageOf("d", 1, 0), 200'000}};
  ASSERT_TRUE(collector.ingest.Submit(SampledBatchOf(usages)).ok());
  const Json version = collector.Get("/v1/usage")[0];
  EXPECT_EQ(version["hang_ms_per_hour"],
            Json::parse(R"({"all": 15142.857, "p50": 10000.0, "p90": 45000.0})"));
  EXPECT_EQ(version["users"], 4);
  EXPECT_EQ(version["watched_ms"], 6 * 3'600'000.0);  // as received
  EXPECT_EQ(version["worst_users"][0]["hang_ms_per_hour"], 45'000.0);
  const Json day = collector.Get("/v1/usage", "by=day")[0];
  EXPECT_EQ(day["hang_ms_per_hour"], version["hang_ms_per_hour"]);
}

TEST(Usage, IsToldDayByDay) {
  constexpr uint64_t kADayMs = kMsPerDay;
  constexpr uint64_t kFirstMs = 19'700 * kADayMs;
  MemoryCollector collector;
  std::vector<report::Usage> usages;
  // The second goes on into the next day, and counts on its own.
  for (const auto& [day, hours, hang_s] : {std::tuple(0, 1, 0), {0, 3, 60}, {2, 1, 7}, {5, 1, 0}}) {
    usages.push_back(UsageOf("u-" + std::to_string(usages.size()), hours, hang_s));
    usages.back().begin_wall_ms = kFirstMs + static_cast<uint64_t>(day) * kADayMs + kADayMs - 1;
    usages.back().end_wall_ms = usages.back().begin_wall_ms + static_cast<uint64_t>(hours) * 3'600'000;
  }
  usages.push_back(usages[2]);
  usages.back().id = base::CreateUuidV7(1);
  usages.back().app_version = "9";
  ASSERT_TRUE(collector.ingest.Submit(BatchOf(usages)).ok());
  const Json days = collector.Get("/v1/usage", "by=day");
  ASSERT_EQ(days.size(), 4u);
  EXPECT_EQ(days[0]["day_ms"], kFirstMs + 5 * kADayMs);
  EXPECT_EQ(days[1]["version"], "2.3.1");
  EXPECT_EQ(days[2]["version"], "9");
  EXPECT_EQ(days[3], Json::parse(R"({"app": "editor", "version": "2.3.1", "day_ms": 1702080000000,
      "users": 2, "watched_ms": 14400000.0, "hangs": 1, "hang_ms": 60000.0,
      "hang_ms_per_hour": {"all": 15000.0, "p50": 0.0, "p90": 20000.0}, "lags": 1, "lagged_ms": 60000.0,
      "lagged_ms_per_hour": {"all": 15000.0, "p50": 0.0, "p90": 20000.0}})"));
  auto of_days = [&](uint64_t first, uint64_t last) {
    return collector
        .Get("/v1/usage", "by=day&from_ms=" + std::to_string(kFirstMs + first * kADayMs) +
                              "&to_ms=" + std::to_string(kFirstMs + last * kADayMs))
        .size();
  };
  EXPECT_EQ(of_days(0, 1), 1u);
  EXPECT_EQ(of_days(1, 2), 2u);
  EXPECT_EQ(of_days(1, 9), 3u);
  EXPECT_EQ(of_days(3, 4), 0u);
  EXPECT_EQ(collector.Get("/v1/usage", "by=day&version=9").size(), 1u);
  EXPECT_EQ(collector.Get("/v1/usage", "by=day&limit=2")[1], days[1]);
  EXPECT_EQ(collector.query_api.Get("/v1/usage", "by=day&limit=10001").status, 400);
  EXPECT_EQ(collector.query_api.Get("/v1/usage", "by=week").status, 400);
  EXPECT_EQ(collector.query_api.Get("/v1/usage", "limit=1001").status, 400);
  // Days count nowhere else.
  EXPECT_EQ(collector.Get("/v1/usage", "from_ms=" + std::to_string(kFirstMs + 9 * kADayMs)).size(), 2u);
}

// By hand: the first record's half hours count 490 and 5 dispatches of 980 and 10 each, the second's last
// quarter one of four.
TEST(Usage, DispatchesAreSpreadOverTheHoursOfTheirRecord) {
  constexpr uint64_t kAnHourMs = 3'600'000;
  constexpr uint64_t kFirstMs = 19'700 * uint64_t{kMsPerDay};
  MemoryCollector collector;
  report::Usage halves = UsageOf("u", 1, 0);
  halves.begin_wall_ms = kFirstMs + kAnHourMs / 2;
  halves.end_wall_ms = halves.begin_wall_ms + kAnHourMs;
  report::Usage four = UsageOf("u", 1, 0);
  four.begin_wall_ms = kFirstMs + kMsPerDay - 3 * kAnHourMs;  // into the next day
  four.end_wall_ms = four.begin_wall_ms + 4 * kAnHourMs;
  four.loops[0].usage.durations.counts = {};
  four.loops[0].usage.durations.counts[15] = 1;
  four.loops.push_back(halves.loops[0]);
  four.loops[1].loop = "io";
  report::Usage days = UsageOf("u", 1, 0);
  days.begin_wall_ms = kFirstMs;
  days.end_wall_ms = kFirstMs + 3 * kMsPerDay;
  ASSERT_TRUE(collector.ingest.Submit(BatchOf({halves, four, days})).ok());
  const Json hours = collector.Get("/v1/usage", "by=hour&loop=ui");
  ASSERT_EQ(hours.size(), 6u);
  EXPECT_EQ(hours[0], Json::parse(R"({"app": "editor", "hour_ms": 1702166400000, "watched_ms": 900000.0,
      "dispatches": 0.25, "durations": [{"from_ms": 16384, "count": 0.25}]})"));
  EXPECT_EQ(hours[4]["hour_ms"], kFirstMs + kAnHourMs);
  EXPECT_EQ(hours[5], Json::parse(R"({"app": "editor", "hour_ms": 1702080000000, "watched_ms": 1800000.0,
      "dispatches": 495.0, "durations": [{"from_ms": 0, "count": 490.0}, {"from_ms": 1, "count": 5.0}]})"));
  EXPECT_EQ(collector.Get("/v1/usage", "by=hour")[0]["dispatches"], 247.75);
  EXPECT_EQ(collector.Get("/v1/usage", "by=hour&loop=none").size(), 0u);
  EXPECT_EQ(collector.query_api.Get("/v1/usage", "loop=ui").status, 400);
  EXPECT_EQ(collector.query_api.Get("/v1/usage", "by=day&loop=ui").status, 400);
  // The days of the filter are those of the hours.
  const std::string next_day = std::to_string(kFirstMs + kMsPerDay);
  EXPECT_EQ(collector.Get("/v1/usage", "by=hour&loop=ui&from_ms=" + next_day), Json::array({hours[0]}));
  EXPECT_EQ(collector.Get("/v1/usage", "by=hour&loop=ui&to_ms=" + std::to_string(kFirstMs)).size(), 5u);
  EXPECT_EQ(collector.Get("/v1/usage", "by=hour&loop=ui&limit=1"), Json::array({hours[0]}));
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
  EXPECT_EQ(collector.Get("/v1/usage", "by=day")[0]["hangs"], UINT64_MAX);
  EXPECT_EQ(collector.Get("/v1/usage", "by=hour").size(), 2u);
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

TEST(Usage, TellsTheHangRateByAValueOfThePrograms) {
  MemoryCollector collector;
  const auto with = [](report::Usage usage, const std::string& index, int64_t hang_s, uint32_t rate_ppm = 0) {
    usage.sample_rate_ppm = rate_ppm;
    usage.values = {{"index", index, {.watched_ns = kHourNs, .hangs = 1, .hang_ns = hang_s * kSecondNs}},
                    {"scene", "inbox", {.watched_ns = kHourNs}}};
    return usage;
  };
  std::string batch = BatchOf({with(UsageOf("a", 1, 10), "old", 10), with(UsageOf("b", 1, 20), "new", 20),
                               with(UsageOf("c", 1, 40), "new", 40)});
  ASSERT_EQ(collector.ingest.Submit(batch)->accepted, 3);
  Json answer = collector.Get("/v1/usage", "by=value&key=index");
  ASSERT_EQ(answer.size(), 2u);
  EXPECT_EQ(answer[0]["value"], "new");
  EXPECT_EQ(answer[0]["users"], 2);
  EXPECT_EQ(answer[0]["hangs"], 2);
  EXPECT_EQ(answer[0]["watched_ms"], 2.0 * 3'600'000);
  EXPECT_EQ(answer[0]["hang_ms_per_hour"]["all"], 30'000.0);
  EXPECT_EQ(answer[0]["hang_ms_per_hour"]["p90"], 40'000.0);
  EXPECT_EQ(answer[1]["value"], "old");
  EXPECT_EQ(answer[1]["hang_ms_per_hour"]["all"], 10'000.0);
  EXPECT_EQ(collector.Get("/v1/usage", "by=value").size(), 3u);
  EXPECT_EQ(collector.Get("/v1/usage", "by=value&user=c&key=index")[0]["hang_ms"], 40'000.0);
  EXPECT_EQ(collector.Get("/v1/usage", "by=value&from_ms=1800000000000").size(), 0u);
  for (const char* query : {"by=day&key=index", "by=hour&key=index", "key=index", "by=value&loop=ui"})
    EXPECT_EQ(collector.query_api.Get("/v1/usage", query).status, 400) << query;
}

TEST(Usage, CountsKeysAndValuesBeyondTheirLimitsAsOthers) {
  UsageValues values;
  constexpr size_t kExtra = 7;
  for (size_t i = 0; i < UsageValues::kMaxValues + kExtra; ++i) {
    report::Usage usage = UsageOf("u" + std::to_string(i), 1, 0);
    usage.values = {{"index", std::to_string(i), {.watched_ns = kHourNs, .hangs = 1}}};
    if (i < UsageValues::kMaxKeys + kExtra)
      usage.values.push_back({"k" + std::to_string(i), "x", {.watched_ns = kHourNs}});
    values.Add(usage, "");
  }
  std::map<std::string, std::map<std::string, uint64_t>> users;  // by key and value
  for (const Json& entry : values.ToJson(SIZE_MAX)) users[entry["key"]][entry["value"]] = entry["users"];
  EXPECT_EQ(users.size(), UsageValues::kMaxKeys + 1);
  EXPECT_EQ(users["(others)"]["x"], kExtra + 1);
  EXPECT_EQ(users["index"].size(), UsageValues::kMaxValues + 1);
  EXPECT_EQ(users["index"]["(others)"], kExtra);
  EXPECT_EQ(users["index"]["999"], 1u);
}

TEST(Usage, HasTheMostWatchedValuesOfEachKey) {
  UsageValues values;
  report::Usage usage = UsageOf("u", 1, 0);
  for (const char* key : {"a", "b"})
    for (int64_t hours : {1, 3, 2})
      usage.values.push_back({key, std::to_string(hours), {.watched_ns = hours * kHourNs}});
  values.Add(usage, "");
  std::vector<std::string> found;
  for (const Json& entry : values.ToJson(2))
    found.push_back(entry["key"].get<std::string>() + entry["value"].get<std::string>());
  EXPECT_THAT(found, ::testing::ElementsAre("a3", "a2", "b3", "b2"));
}

}  // namespace
}  // namespace lagwatch::collector
