// SPDX-License-Identifier: Apache-2.0
// Clients that make up names: of programs, versions, loops and functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/ingest/name_limits.h"
#include "collector/query/json/cluster_json.h"
#include "collector/store/report_summer.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::EncodeBatch;
using testing::MemoryCollector;
using testing::SampleReport;
using ::testing::SizeIs;

constexpr int64_t kNamedDay = 20'000;

std::string ReportNamed(const std::string& app, const std::string& version, int64_t elapsed_ms = 1000) {
  SampleReport report;
  report.header.app = app;
  report.header.app_version = version;
  report.header.elapsed_ns = static_cast<uint64_t>(elapsed_ms) * 1'000'000;
  return report.Encode();
}

TEST(CauseNames, AreThoseOfTheMostHangTimeAndTheNewestVersion) {
  NameCosts costs;
  for (int i = 0; i < 362; ++i) costs["1." + std::to_string(i)] = 1000 - i;
  const CauseNames versions = CostliestVersions(costs);
  EXPECT_THAT(versions.names, SizeIs(kMostNamesOfACause));
  EXPECT_EQ(versions.more, 312);
  EXPECT_THAT(versions.names, Contains("1.0"));
  EXPECT_THAT(versions.names, Contains("1.361"));
  EXPECT_THAT(versions.names, ::testing::Not(Contains("1.49")));
  EXPECT_TRUE(std::ranges::is_sorted(versions.names));
  EXPECT_EQ(CostliestNames({{"b", 1}, {"a", 0}}).names, (std::vector<std::string>{"a", "b"}));
}

TEST(NameBounds, ACauseNamesSomeOfItsVersionsAndCountsTheOthers) {
  MemoryCollector collector;
  std::vector<std::string> reports;
  for (int i = 0; i < 80; ++i) reports.push_back(ReportNamed("editor", "9." + std::to_string(i), 1000 + i));
  for (int i = 0; i < 70; ++i) reports.push_back(ReportNamed("app" + std::to_string(i), "1.0"));
  ASSERT_EQ(collector.ingest.Submit(EncodeBatch(reports))->accepted, 150);
  for (const Json& cause : {collector.Get("/v1/clusters")[0], collector.Get("/v1/clusters", "user=")[0],
                            collector.Get("/v1/clusters")[0]["children"][0]}) {
    EXPECT_THAT(cause["versions"], SizeIs(kMostNamesOfACause));
    EXPECT_EQ(cause["more_versions"], 81 - 50);
    EXPECT_THAT(cause["apps"], SizeIs(kMostNamesOfACause));
    EXPECT_EQ(cause["more_apps"], 71 - 50);
    EXPECT_EQ(cause["reports"], 150);
  }
  EXPECT_EQ(collector.Get("/v1/clusters", "version=9.0")[0]["more_versions"], 0);
}

// 615 KB of reports made this list 81 MB.
TEST(NameBounds, TheListOfCausesStaysSmall) {
  MemoryCollector collector;
  std::vector<std::string> reports;
  for (int cause = 0; cause < 40; ++cause) {
    for (int i = 0; i < 40; ++i) {
      SampleReport report;
      report.stack = {"Leaf" + std::to_string(cause), std::string(60'000, 'f'), "Loop", "main"};
      const std::string version = std::string(1000, 'v') + std::to_string(i);
      const std::string app = std::string(1000, 'a') + std::to_string(i);
      report.header.app_version = version;
      report.header.app = app;
      reports.push_back(report.Encode());
    }
  }
  ASSERT_EQ(collector.ingest.Submit(EncodeBatch(reports))->accepted, 1600);
  const Response list = collector.query_api.Get("/v1/clusters", "");
  EXPECT_EQ(list.status, 200);
  EXPECT_LT(list.body.size(), NameRoom::kMostBytes + 1'000'000);
  const Json causes = Json::parse(list.body);
  ASSERT_THAT(causes, SizeIs(40));
  for (const Json& cause : causes) {
    EXPECT_EQ(cause["versions"].size() + cause["more_versions"].get<size_t>(), 40u);
    EXPECT_EQ(cause["reports"], 40);
  }
}

TEST(NameBounds, AListThatWouldBeTooLargeIsRefusedWithTheWayOut) {
  MemoryCollector collector;
  std::vector<std::string> reports(1000);
  for (size_t i = 0; i < reports.size(); ++i) {
    SampleReport report;
    const std::string tag(1000, 't');
    report.header.tag = tag;
    const std::string n = std::to_string(i);
    report.stack = {n + std::string(60'000, 'a'), n + std::string(60'000, 'b'), n + std::string(60'000, 'c'),
                    n + std::string(60'000, 'd'), "main"};
    reports[i] = report.Encode();
  }
  for (size_t i = 0; i < reports.size(); i += 50) {
    const std::vector<std::string> some(reports.begin() + static_cast<ptrdiff_t>(i),
                                        reports.begin() + static_cast<ptrdiff_t>(i) + 50);
    ASSERT_TRUE(collector.ingest.Submit(EncodeBatch(some)).ok());
  }
  EXPECT_EQ(collector.query_api.Get("/v1/clusters", "").status, 200);
  EXPECT_EQ(collector.query_api.Get("/v1/reports", "").status, 200);
  EXPECT_EQ(collector.query_api.Get("/v1/clusters", "limit=1000").status, 200);
}

TEST(NameBounds, NamesBeyondAKeysBoundsCountAsOthers) {
  const std::unique_ptr<Store> store = testing::open_store();
  const Ingest ingest(store.get(), Clusterer::Create("").value(), nullptr, {}, {}, {},
                      {.apps = 2, .versions = 3, .places = 4});
  std::vector<std::string> reports;
  for (int i = 0; i < 10; ++i) reports.push_back(ReportNamed("editor", "1." + std::to_string(i)));
  for (int i = 0; i < 5; ++i) reports.push_back(ReportNamed("app" + std::to_string(i), "1.0"));
  const auto result = ingest.Submit(EncodeBatch(reports), {.key = "a key"});
  EXPECT_EQ(result->accepted, 15);
  EXPECT_EQ(result->folded, 12);
  const CauseRow cause = store->Causes({})->causes.front();
  EXPECT_THAT(cause.apps, ElementsAre(kOtherNames, "app0", "editor"));
  EXPECT_THAT(cause.versions, ElementsAre(kOtherNames, "1.0", "1.1", "1.2"));
  EXPECT_EQ(cause.sums.reports, 15);
  // Known names stay known, and another key has its own bounds.
  EXPECT_EQ(ingest.Submit(EncodeBatch({ReportNamed("editor", "1.1")}), {.key = "a key"})->folded, 0);
  EXPECT_EQ(ingest.Submit(EncodeBatch({ReportNamed("editor", "2.0")}), {.key = "another key"})->folded, 0);
  EXPECT_THAT(store->Causes({.filter = {.version = "2.0"}})->causes, SizeIs(1));
  // The report itself is kept as it came.
  const auto others = store->Reports({.app = kOtherNames}, 1);
  const auto stored = store->FindReport(others->front().id)->value();
  EXPECT_EQ(report::DecodeReport(stored.payload)->app.substr(0, 3), "app");
}

TEST(NameBounds, ANameThatIsNotUsedAnyMoreMakesRoom) {
  NameLimits limits({.apps = 2, .versions = 2, .places = 2, .days = 7});
  const auto is_folded = [&](int64_t day, std::string version, std::string loop = "ui") {
    std::string app = "editor", os = "debian";
    return limits.Bound({.key = "key"}, day * kMsPerDay, &app, &version, &loop, &os);
  };
  EXPECT_FALSE(is_folded(kNamedDay, "1"));
  EXPECT_FALSE(is_folded(kNamedDay, "2"));
  EXPECT_TRUE(is_folded(kNamedDay + 7, "3"));
  EXPECT_FALSE(is_folded(kNamedDay + 7, "2"));
  EXPECT_FALSE(is_folded(kNamedDay + 8, "3"));  // in place of version 1
  EXPECT_TRUE(is_folded(kNamedDay + 8, "1"));
  EXPECT_TRUE(is_folded(kNamedDay + 8, "3", "another loop"));
}

// A stranger with the public key invents versions; a release that several networks report has its name.
class InventedVersions : public ::testing::Test {
 protected:
  bool IsFolded(int network, std::string version, std::string app = "editor") {
    const std::string address = {1, 2, static_cast<char>(network), 1};
    const Sender sender{.key = "key", .address = address, .network = address.substr(0, 3)};
    return limits_.Bound(sender, kNamedDay * kMsPerDay, &app, &version);
  }
  void Invent(int network, int count) {
    for (int i = 0; i < count; ++i) IsFolded(network, std::to_string(network) + "-" + std::to_string(i));
  }

  NameLimits limits_{{.apps = 10, .versions = 100}};
};

TEST_F(InventedVersions, OneNetworkLeavesRoomForOthers) {
  Invent(1, 1000);
  EXPECT_TRUE(IsFolded(1, "own"));
  EXPECT_FALSE(IsFolded(2, "3.0"));
}

TEST_F(InventedVersions, AVersionOfThreeNetworksTakesThePlaceOfOneOfOne) {
  for (int network = 1; network < 30; ++network) Invent(network, 100);
  EXPECT_TRUE(IsFolded(100, "3.0"));
  EXPECT_TRUE(IsFolded(101, "3.0"));
  EXPECT_FALSE(IsFolded(102, "3.0"));
  EXPECT_FALSE(IsFolded(100, "3.0"));
}

TEST_F(InventedVersions, AVersionOfManyKeepsItsPlace) {
  for (int network = 1; network <= 3; ++network) EXPECT_FALSE(IsFolded(network, "2.0"));
  for (int network = 1; network < 90; ++network) Invent(network, 50);
  for (int i = 0; i < 500; ++i) {
    for (int network = 1; network <= 3; ++network) IsFolded(network, "shared" + std::to_string(i));
  }
  EXPECT_FALSE(IsFolded(9, "2.0"));
}

TEST_F(InventedVersions, APinnedVersionAlwaysHasRoom) {
  limits_.PinBy(
      [](const std::string& app, const std::string& version) { return app == "editor" && version == "3.0"; });
  for (int network = 1; network < 30; ++network) Invent(network, 100);
  EXPECT_FALSE(IsFolded(100, "3.0"));
  EXPECT_TRUE(IsFolded(100, "3.1"));
  for (int i = 0; i < 50; ++i) IsFolded(i, "1", "app" + std::to_string(i));
  EXPECT_TRUE(IsFolded(100, "3.0", "player"));
}

}  // namespace
}  // namespace lagwatch::collector
