// SPDX-License-Identifier: Apache-2.0
// Fields of a list of clusters besides their sums.
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
  // Of that many days ago, with the weight of `weight` users.
  void Hang(std::vector<std::string> stack, int64_t days_ago, int64_t hang_ms, uint32_t weight = 1) {
    SampleReport report{.stack = std::move(stack)};
    report.header.id = report.header.hang_id = base::CreateUuidV7(BeginOf(days_ago) + 1);
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
  Hang({"Save", "OnSave"}, 2, 1000, 4);
  Hang({"Save", "OnSave"}, 2, 500);
  Hang({"Save", "OnSave"}, 5, 3000);
  Hang({"Save", "OnSave"}, 40, 9000);
  Hang({"Load", "OnLoad"}, 5, 100);
  const Json day2 = Day(BeginOf(2), 4500), day5 = Day(BeginOf(5), 3000), day40 = Day(BeginOf(40), 9000);
  EXPECT_EQ(DaysOf("Save", "days=20"), Json::array({day5, day2}));
  EXPECT_EQ(DaysOf("Load", "days=20"), Json::array({Day(BeginOf(5), 100)}));
  EXPECT_EQ(DaysOf("Save", "days=90"), Json::array({day40, day5, day2}));
  EXPECT_EQ(DaysOf("Save", "days=4"), Json::array({day2}));
  EXPECT_EQ(DaysOf("Load", "days=1"), Json::array());
  EXPECT_EQ(DaysOf("Save", "days=20&level=2"), Json::array({day5, day2}));
  EXPECT_EQ(DaysOf("Save", "days=20&version=2.3.1"), Json::array({day5, day2}));
}

TEST_F(ClusterListTest, NamesTheCostliestVersionsAndCountsTheOthers) {
  std::vector<std::string> reports;
  for (int i = 0; i < 60; ++i) {
    SampleReport report;
    report.header.id = report.header.hang_id = base::CreateUuidV7(BeginOf(1) + i);
    const std::string version = "1." + std::to_string(i);
    report.header.app_version = version;
    report.header.elapsed_ns = (i + 1) * int64_t{1'000'000'000};
    reports.push_back(report.Encode());
  }
  ASSERT_TRUE(collector_.ingest.Submit(testing::EncodeBatch(reports)).ok());
  for (const char* query : {"", "loop=ui", "version=1.7"}) {
    const Json causes = collector_.Get("/v1/clusters", query);
    ASSERT_EQ(causes.size(), 1u) << query;
    const bool is_of_all = std::string_view(query) != "version=1.7";
    EXPECT_EQ(causes[0]["versions"].size(), is_of_all ? 50u : 1u) << query;
    EXPECT_EQ(causes[0]["more_versions"], is_of_all ? 10 : 0) << query;
    EXPECT_THAT(causes[0]["versions"], ::testing::Not(::testing::Contains("1.0"))) << query;
  }
}

TEST_F(ClusterListTest, HasNoDaysUnlessAskedFor) {
  Hang({"Save", "OnSave"}, 2, 1000);
  EXPECT_FALSE(collector_.Get("/v1/clusters")[0].contains("days"));
  const Json cause = collector_.Get("/v1/clusters", "days=3")[0];
  EXPECT_FALSE(cause["children"][0].contains("days"));
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "days=91").status, 400);
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "days=-1").status, 400);
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "days=3&format=csv").status, 200);
}

TEST_F(ClusterListTest, HasTheDaysOfAllThatIsMerged) {
  Hang({"Save", "OnSave"}, 2, 1000);
  Hang({"Load", "OnLoad"}, 2, 100);
  Hang({"Load", "OnLoad"}, 3, 10);
  std::map<std::string, std::string> keys;
  for (const Json& cause : collector_.Get("/v1/clusters")) keys[cause["frames"][0]] = cause["key"];
  ASSERT_TRUE(
      AnnotatedCauses(collector_.store.get()).Put({.key = keys["Load"], .merged_into = keys["Save"]}).ok());
  EXPECT_EQ(DaysOf("Save", "days=5"), Json::array({Day(BeginOf(3), 10), Day(BeginOf(2), 1100)}));
}

class ClusterSearchTest : public ClusterListTest {
 protected:
  std::vector<std::string> Found(const std::string& text, const std::string& filter = "") {
    QueryString query;
    query.Set("q", text);
    std::vector<std::string> innermost;
    for (const Json& cause : collector_.Get("/v1/clusters", query.ToText() + filter))
      innermost.push_back(cause["frames"][0]);
    return innermost;
  }
  std::string KeyOf(const std::string& innermost) {
    for (const Json& cause : collector_.Get("/v1/clusters")) {
      if (cause["frames"][0] == innermost) return cause["key"];
    }
    return "";
  }
};

TEST_F(ClusterSearchTest, FindsWhatIsCalledSo) {
  Hang({"Index::Save", "OnSave"}, 2, 3000);
  Hang({"Load", "Index::OnLoad"}, 2, 2000);
  Hang({"Draw", "OnPaint"}, 2, 1000);
  EXPECT_THAT(Found("index::"), ElementsAre("Index::Save", "Load"));
  EXPECT_THAT(Found("INDEX::ON"), ElementsAre("Load"));
  EXPECT_THAT(Found("On"), ElementsAre("Index::Save", "Load", "Draw"));
  EXPECT_THAT(Found("on", "&limit=1"), ElementsAre("Index::Save"));
  EXPECT_THAT(Found("on", "&limit=1&offset=1"), ElementsAre("Load"));
  EXPECT_THAT(Found("on", "&offset=3"), ElementsAre());
  EXPECT_THAT(Found("index", "&level=2"), ElementsAre("Index::Save", "Load"));
  EXPECT_THAT(Found("none"), ElementsAre());
  EXPECT_THAT(Found("Save OnSave"), ElementsAre());
  const Json draw = collector_.Get("/v1/clusters", "q=draw")[0];
  EXPECT_EQ(draw["share"], 1.0 / 6);  // of all, not of what was found
}

TEST_F(ClusterSearchTest, TakesEachCharacterForItself) {
  Hang({"operator\"\"_km", "a%b"}, 2, 3000);
  Hang({"path\\new", "x[1], 'y'"}, 2, 2000);
  Hang({"\u00dcber\n", "a_b"}, 2, 1000);
  EXPECT_THAT(Found("\"\"_K"), ElementsAre("operator\"\"_km"));
  EXPECT_THAT(Found("\",\""), ElementsAre());
  EXPECT_THAT(Found("%"), ElementsAre("operator\"\"_km"));
  EXPECT_THAT(Found("a_b"), ElementsAre("\u00dcber\n"));
  EXPECT_THAT(Found("\\N"), ElementsAre("path\\new"));
  EXPECT_THAT(Found("\\"), ElementsAre("path\\new"));
  EXPECT_THAT(Found("\n"), ElementsAre("\u00dcber\n"));
  EXPECT_THAT(Found("\u00dcBER"), ElementsAre("\u00dcber\n"));
  EXPECT_THAT(Found("\u00fcber"), ElementsAre());  // ASCII alone
  EXPECT_THAT(Found("[]"), ElementsAre());
  EXPECT_THAT(Found("[1], 'Y'"), ElementsAre("path\\new"));
  EXPECT_THAT(Found("' OR '1' = '1"), ElementsAre());
  EXPECT_THAT(Found(std::string("\0", 1)), ElementsAre());
  EXPECT_THAT(Found("\xff"), ElementsAre());
  EXPECT_THAT(Found(std::string(200, 'x')), ElementsAre());
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "q=" + std::string(201, 'x')).status, 400);
}

// Of thousands, and of those a part that is much or little of all: each of these is looked for
// in another way.
TEST_F(ClusterSearchTest, FindsTheCostliestOfMany) {
  std::vector<std::string> reports;
  for (int i = 0; i < 2600; ++i) {
    const bool is_rest = i % 26 == 0;
    const std::string name = (is_rest ? "Rest" : "Work") + std::to_string(i);
    SampleReport report{.stack = {name, "Caller"}};
    report.header.elapsed_ns = (10'000 - i) * 1'000'000LL;
    report.header.app_version = i % 2 ? "odd" : "even";
    report.header.loop = i % 50 == 1 ? "few" : "many";
    reports.push_back(report.Encode());
    if (reports.size() < 650) continue;
    ASSERT_EQ(collector_.ingest.Submit(testing::EncodeBatch(std::exchange(reports, {})))->accepted, 650);
  }
  EXPECT_THAT(Found("work", "&limit=3"), ElementsAre("Work1", "Work2", "Work3"));
  EXPECT_THAT(Found("work", "&limit=3&offset=24"), ElementsAre("Work25", "Work27", "Work28"));
  EXPECT_THAT(Found("work", "&limit=3&version=even"), ElementsAre("Work2", "Work4", "Work6"));
  EXPECT_THAT(Found("work", "&limit=2&offset=12&version=even"), ElementsAre("Work28", "Work30"));
  EXPECT_THAT(Found("work", "&limit=3&loop=few"), ElementsAre("Work1", "Work51", "Work101"));
  EXPECT_THAT(Found("rest", "&limit=3&version=even"), ElementsAre("Rest0", "Rest26", "Rest52"));
  EXPECT_THAT(Found("rest", "&limit=3&version=odd"), ElementsAre());
}

TEST_F(ClusterSearchTest, GoesTogetherWithAFilter) {
  Hang({"Save", "OnSave"}, 2, 3000);
  Hang({"Load", "OnSave"}, 3, 2000);
  Hang({"Load", "OnSave"}, 2, 100);
  Hang({"Draw", "OnPaint"}, 2, 1000);
  const std::string days =
      "&from_ms=" + std::to_string(BeginOf(3)) + "&to_ms=" + std::to_string(BeginOf(3) + 5);
  EXPECT_THAT(Found("onsave", "&loop=ui"), ElementsAre("Save", "Load"));
  EXPECT_THAT(Found("onsave", "&loop=io"), ElementsAre());
  EXPECT_THAT(Found("onsave", days), ElementsAre("Load"));
  EXPECT_THAT(Found("onsave", days + "&loop=ui"), ElementsAre("Load"));
  EXPECT_THAT(Found("onsave", "&user=u-71&limit=1&offset=1"), ElementsAre("Load"));
  EXPECT_EQ(DaysOf("Load", "q=load&days=9"), Json::array({Day(BeginOf(3), 2000), Day(BeginOf(2), 100)}));
}

TEST_F(ClusterSearchTest, FindsWhoHoldsTheLockAndWhoCalls) {
  SampleReport waits{.waits = {{.fields = {.tid = 4712,
                                           .lock = {.address = 0x7f10,
                                                    .kind = report::LockKind::kMutex,
                                                    .waits_for = report::WaitsFor::kOwner,
                                                    .owner_tid = 4713},
                                           .owner_name = "indexer"},
                                .stack = {"pthread_mutex_lock", "Lookup"},
                                .owner_stack = {"nanosleep", "Indexer::Rebuild"}}},
                     .wait_outcome = report::WaitOutcome::kLock};
  waits.verdict.word = policies::VerdictWord::kLock;
  collector_.Submit({waits, SampleReport{.stack = {"@0x1f", "@0x2f", "Plugin::Run"}}});
  const Json holder = collector_.Get("/v1/clusters", "q=indexer::re");
  ASSERT_EQ(holder.size(), 1u) << collector_.Get("/v1/clusters").dump();
  EXPECT_EQ(holder[0]["held_by"][0], "Indexer::Rebuild");
  const Json caller = collector_.Get("/v1/clusters", "q=plugin::run");
  ASSERT_EQ(caller.size(), 1u) << collector_.Get("/v1/clusters").dump();
  EXPECT_EQ(caller[0]["via"], "Plugin::Run");
}

TEST_F(ClusterSearchTest, FindsTitlesAndWhatIsShownElsewhere) {
  Hang({"Save", "OnSave"}, 2, 3000);
  Hang({"Load", "OnLoad"}, 2, 2000);
  Hang({"Wait", "Call", "Scan", "OnScan"}, 2, 900);
  Hang({"Wait", "Call", "Sort", "OnSort"}, 2, 800);
  Hang({"Draw", "OnPaint"}, 2, 700);
  AnnotatedCauses annotated(collector_.store.get());
  const std::string save = KeyOf("Save"), load = KeyOf("Load"), wait = KeyOf("Wait"), draw = KeyOf("Draw");
  ASSERT_TRUE(annotated.Put({.key = draw, .title = "Slow picture"}).ok());
  EXPECT_THAT(Found("slow PIC"), ElementsAre("Draw"));
  EXPECT_THAT(Found("slow PIC", "&loop=ui"), ElementsAre("Draw"));
  EXPECT_THAT(Found("slow PIC", "&user=u-71"), ElementsAre("Draw"));
  ASSERT_TRUE(annotated.Put({.key = load, .merged_into = save}).ok());
  EXPECT_THAT(Found("onload"), ElementsAre("Save"));
  EXPECT_THAT(Found("onpaint"), ElementsAre("Draw"));
  EXPECT_THAT(Found("onscan"), ElementsAre());
  ASSERT_TRUE(annotated.Put({.key = wait, .is_split = true}).ok());
  EXPECT_THAT(Found("onscan"), ElementsAre("Wait"));
  EXPECT_THAT(Found("wait"), ElementsAre("Wait", "Wait"));
  EXPECT_THAT(Found("on"), ElementsAre("Save", "Wait", "Wait", "Draw"));
}

}  // namespace
}  // namespace lagwatch::collector
