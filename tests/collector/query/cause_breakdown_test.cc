// SPDX-License-Identifier: Apache-2.0
// Causes by system, dispatch and so on, and filters by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::SampleReport;

class CauseBreakdownTest : public ::testing::Test {
 protected:
  void Hang(const std::string& innermost, const std::string& distribution, const std::string& tag,
            const std::string& user, int64_t hang_ms, const std::string& version = "2.3.1") {
    SampleReport report{.stack = {innermost, "Caller"}};
    report.header.id = report.header.hang_id = base::CreateUuidV7(now_ms_);
    report.header.distribution = distribution;
    report.header.tag = tag;
    report.header.user = user;
    report.header.app_version = version;
    report.header.elapsed_ns = hang_ms * 1'000'000;
    ASSERT_TRUE(collector_.ingest.Submit(testing::EncodeBatch({report.Encode()})).ok());
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
  std::string Key(const std::string& innermost) {
    for (const Json& cause : collector_.Get("/v1/clusters")) {
      if (cause["frames"][0] == innermost) return cause["key"];
    }
    return "";
  }
  std::vector<std::string> Causes(const std::string& filter) {
    std::vector<std::string> names;
    for (const Json& cause : collector_.Get("/v1/clusters", filter)) names.push_back(cause["frames"][0]);
    return names;
  }

  const int64_t now_ms_ = base::SystemClock().WallMs() - 1000;
  testing::MemoryCollector collector_;
};

TEST_F(CauseBreakdownTest, AddsUpToTheCause) {
  Hang("Save", "Debian", "save", "ann", 3000);
  Hang("Save", "Debian", "autosave", "ann", 1000);
  Hang("Save", "Fedora", "save", "bob", 6000);
  Hang("Load", "Fedora", "open", "bob", 9000);
  const Json parts = collector_.Get("/v1/clusters/" + Key("Save") + "/breakdown");
  ASSERT_EQ(parts["distribution"]["values"].size(), 2u) << parts;
  EXPECT_EQ(parts["distribution"]["values"][0], (Json{{"value", "Fedora"},
                                                      {"reports", 1},
                                                      {"hangs", 1},
                                                      {"users", 1},
                                                      {"hang_ms", 6000.0},
                                                      {"estimated", {{"hangs", 1.0}, {"hang_ms", 6000.0}}},
                                                      {"share", 0.6}}));
  EXPECT_EQ(parts["distribution"]["values"][1]["value"], "Debian");
  EXPECT_EQ(parts["distribution"]["values"][1]["hangs"], 2);
  EXPECT_EQ(parts["distribution"]["values"][1]["users"], 1);
  EXPECT_EQ(parts["tag"]["values"][0]["hang_ms"], 9000.0);
  EXPECT_EQ(parts["version"]["values"][0]["share"], 1.0);
  EXPECT_EQ(parts["os"]["more"], 0);
  EXPECT_FALSE(parts.contains("user"));
  const Json of_ann = collector_.Get("/v1/clusters/" + Key("Save") + "/breakdown", "user=ann");
  EXPECT_EQ(of_ann["distribution"]["values"].size(), 1u);
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters/0123456789abcdef/breakdown", "").status, 404);
}

TEST_F(CauseBreakdownTest, OfAMergedCauseIsThatOfAllItsParts) {
  Hang("Save", "Debian", "save", "ann", 3000);
  Hang("Load", "Fedora", "open", "bob", 9000);
  const std::string save = Key("Save"), load = Key("Load");
  ASSERT_TRUE(AnnotatedCauses(collector_.store.get()).Put({.key = load, .merged_into = save}).ok());
  EXPECT_EQ(collector_.Get("/v1/clusters/" + save + "/breakdown")["distribution"]["values"].size(), 2u);
}

TEST_F(CauseBreakdownTest, ValuesCountsTheMostFrequentTwentyAndTheOthers) {
  for (int i = 0; i < 23; ++i) Hang("Save", "Debian", "tag" + std::to_string(i), "ann", 1000 + i);
  const Json tags = collector_.Get("/v1/clusters/" + Key("Save") + "/breakdown")["tag"];
  EXPECT_EQ(tags["values"].size(), 20u);
  EXPECT_EQ(tags["values"][0]["value"], "tag22");
  EXPECT_EQ(tags["more"], 3);
}

TEST_F(CauseBreakdownTest, ListsAreFilteredByTagAndDistribution) {
  Hang("Save", "Debian", "save", "ann", 3000);
  Hang("Save", "Fedora", "save", "bob", 6000);
  Hang("Load", "Fedora", "open", "bob", 9000);
  EXPECT_THAT(Causes("distribution=Debian"), ElementsAre("Save"));
  EXPECT_THAT(Causes("distribution=Fedora"), ElementsAre("Load", "Save"));
  EXPECT_THAT(Causes("distribution=Fedora&tag=save"), ElementsAre("Save"));
  EXPECT_THAT(Causes("distribution=Fedora&os=Linux+6.1.0&user=bob&verdict=unknown&tag=open"),
              ElementsAre("Load"));
  EXPECT_THAT(Causes("distribution=Debian&tag=open"), ElementsAre());
  EXPECT_EQ(collector_.Get("/v1/clusters", "distribution=Debian")[0]["hang_ms"], 3000.0);
  EXPECT_EQ(collector_.Get("/v1/clusters/" + Key("Save"), "distribution=Fedora")["hang_ms"], 6000.0);
  const Json reports = collector_.Get("/v1/reports", "tag=save&distribution=Fedora");
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0]["distribution"], "Fedora");
  EXPECT_EQ(reports[0]["user"], "bob");
  EXPECT_EQ(collector_.Get("/v1/reports", "app=editor&tag=save").size(), 2u);
}

TEST_F(CauseBreakdownTest, RatesOfAPartOfTheUsersAreNotKnown) {
  Hang("Save", "Debian", "save", "ann", 3000);
  Watch("2.3.1", 2);
  EXPECT_EQ(collector_.Get("/v1/clusters", "tag=save")[0]["hang_ms_per_hour"], 1500.0);
  EXPECT_EQ(collector_.Get("/v1/clusters", "distribution=Debian")[0]["hang_ms_per_hour"], Json());
  EXPECT_EQ(collector_.Get("/v1/clusters", "os=Linux+6.1.0")[0]["hang_ms_per_hour"], Json());
}

TEST_F(CauseBreakdownTest, AListHasThePackagesOfEachIfThatIsAskedFor) {
  Hang("Save", "Debian", "save", "ann", 3000);
  EXPECT_FALSE(collector_.Get("/v1/clusters")[0].contains("packages"));
  const Json packages = collector_.Get("/v1/clusters", "packages=3")[0]["packages"];
  ASSERT_EQ(packages.size(), 1u);
  EXPECT_EQ(packages[0]["package"], "editor");
  EXPECT_EQ(packages[0]["share"], 1.0);
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "packages=11").status, 400);
}

TEST_F(CauseBreakdownTest, ValuesAreTheMostFrequentFirst) {
  Hang("Save", "Debian", "save", "ann", 3000);
  Hang("Save", "Fedora", "save", "bob", 6000);
  Hang("Load", "Fedora", "", "bob", 9000);
  const Json values = collector_.Get("/v1/values");
  EXPECT_EQ(values["distribution"], Json::array({"Fedora", "Debian"}));
  EXPECT_EQ(values["tag"], Json::array({"save"}));
  EXPECT_EQ(values["user"], Json::array({"bob", "ann"}));
  EXPECT_EQ(collector_.Get("/v1/values", "user=ann")["distribution"], Json::array({"Debian"}));
}

TEST_F(CauseBreakdownTest, ACauseSaysItsFirstAndLastVersionAndWhetherItIsGone) {
  Hang("Save", "Debian", "save", "ann", 3000, "1.9");
  Hang("Save", "Debian", "save", "ann", 3000, "1.10");
  Hang("Load", "Debian", "save", "ann", 2000, "2.0");
  Watch("1.10", 3);
  Watch("2.0", 1);
  const auto cause = [&](const std::string& filter, size_t index) {
    return collector_.Get("/v1/clusters", filter)[index];
  };
  EXPECT_EQ(cause("", 0)["first_version"], "1.9");
  EXPECT_EQ(cause("", 0)["last_version"], "1.10");
  EXPECT_EQ(cause("", 0)["not_seen_since"], "1.10");
  EXPECT_EQ(cause("app=editor", 0)["not_seen_since"], "1.10");
  EXPECT_EQ(cause("", 1)["not_seen_since"], Json());
  EXPECT_EQ(cause("version=1.10", 0)["not_seen_since"], Json())
      << "what later versions have is not in the list";
}

}  // namespace
}  // namespace lagwatch::collector
