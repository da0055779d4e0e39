// SPDX-License-Identifier: Apache-2.0
// Twelve questions of an analyst about a month with planted truths, each answered in two requests at most.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/collector/memory_collector.h"
#include "tests/collector/seed/month/planted_month.h"
#include "tests/collector/seed/month/truth.h"
#include "tests/collector/seed/seeder.h"
#include "tests/testing/process.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::HangTruth;
using testing::OfApp;
using testing::OfCause;
using testing::PlantedHang;
using testing::PlantedMonth;

constexpr int kPartOfTheMonth = 20;
constexpr size_t kMostSteps = 2;

class AnalystQuestions : public ::testing::Test {
 protected:
  AnalystQuestions() {
    testing::Seeder seeder(&collector_.ingest, 2000);
    SeedMonth(month_, &seeder);
  }
  // ClickHouse has records some time after they were acknowledged.
  void SetUp() override {
    ASSERT_TRUE(testing::WaitUntil([&] { return HasAll(); }, 60));
    steps_ = 0;
  }
  void TearDown() override { EXPECT_LE(steps_, kMostSteps); }

  Json Ask(const std::string& path, const std::string& query = "") {
    ++steps_;
    const Response answer = collector_.query_api.Get(path, query);
    if (answer.status != 200) throw std::runtime_error(path + "?" + query + ": " + answer.body);
    return Json::parse(answer.body);
  }
  bool HasAll() {
    int64_t hangs_of_uses = 0;
    for (const Json& each : Ask("/v1/usage", "limit=1000")) hangs_of_uses += each["hangs"].get<int64_t>();
    const HangTruth truth = Truth([](const PlantedHang&) { return true; });
    const double missing_ms = truth.hang_ms - Ask("/v1/breakdown")["all"]["hang_ms"].get<double>();
    return hangs_of_uses == truth.hangs && std::abs(missing_ms) < 1;
  }
  void NextQuestion() { EXPECT_LE(std::exchange(steps_, 0), kMostSteps); }
  HangTruth Truth(const testing::HangFilter& filter) const { return TruthOf(month_, filter); }

  static Json CauseIn(const Json& list, const std::string& leaf) {
    for (const Json& cause : list) {
      if (cause["frames"][0] == leaf) return cause;
    }
    ADD_FAILURE() << leaf << " is not in " << list;
    return {};
  }
  static std::vector<std::string> LeavesOf(const Json& list) {
    std::vector<std::string> leaves;
    for (const Json& cause : list) leaves.push_back(cause["frames"][0]);
    return leaves;
  }
  // Of a cause, by its functions alone.
  Json BreakdownOf(const std::string& app, const std::string& leaf) {
    const std::string key = CauseIn(Ask("/v1/clusters", "app=" + app), leaf)["key"];
    return Ask("/v1/clusters/" + key + "/breakdown");
  }
  static std::map<std::string, double> SharesOf(const Json& part) {
    std::map<std::string, double> shares;
    for (const Json& each : part["values"])
      shares[each["value"].get<std::string>()] = each["share"].get<double>();
    return shares;
  }

  const PlantedMonth month_{kPartOfTheMonth};
  testing::MemoryCollector collector_;
  size_t steps_ = 0;
};

TEST_F(AnalystQuestions, WhichCausesMatterMostInAVersion) {
  const Json list = Ask("/v1/clusters", "app=editor&version=2.4.0");
  std::vector<std::pair<double, std::string>> expected;
  for (const testing::PlantedCause& cause : month_.causes()) {
    const HangTruth truth = Truth(Both(OfApp("editor", "2.4.0"), OfCause(cause.leaf)));
    if (truth.hangs > 0) expected.emplace_back(-truth.hang_ms, cause.leaf);
  }
  std::ranges::sort(expected);
  ASSERT_EQ(list.size(), expected.size());
  for (size_t i = 0; i < list.size(); ++i)
    EXPECT_NEAR(list[i]["hang_ms"].get<double>(), -expected[i].first, 0.01) << list[i]["frames"];
  EXPECT_EQ(list[0]["frames"][0], "Index::Lookup");
  EXPECT_EQ(list[0]["held_by"], Json::array({"Index::Rebuild"}));
}

TEST_F(AnalystQuestions, DidAVersionFixACause) {
  const Json cause = CauseIn(Ask("/v1/clusters", "app=editor"), "ParseOutline");
  EXPECT_EQ(cause["not_seen_since"], "2.3.0");
  const Json versions = Ask("/v1/clusters/" + cause["key"].get<std::string>(), "by=version")["by_version"];
  ASSERT_EQ(versions.size(), 5u) << versions;
  for (const Json& each : versions) {
    const std::string version = each["version"];
    EXPECT_EQ(each["hangs"], Truth(Both(OfApp("editor", version), OfCause("ParseOutline"))).hangs) << version;
    EXPECT_NEAR(each["watched_ms"].get<double>(), UseOf(month_, "editor", version).watched_ms, 1) << version;
  }
  EXPECT_EQ(versions[4]["version"], "2.4.0");
  EXPECT_EQ(versions[4]["hangs"], 0);
}

TEST_F(AnalystQuestions, WhatIsNewInAVersion) {
  const Json in_editor = Ask("/v1/clusters", "app=editor&new_in=2.4.0");
  EXPECT_THAT(LeavesOf(in_editor), ElementsAre("SpellCheck::Word"));
  EXPECT_EQ(in_editor[0]["hangs"], Truth(OfCause("SpellCheck::Word")).hangs);
  NextQuestion();
  EXPECT_THAT(LeavesOf(Ask("/v1/clusters", "app=mail&new_in=5.1")), ElementsAre("Outbox::Lock"));
  // Its sums are the version's.
  const Json since = Ask("/v1/clusters", "app=player&new_in=1.9");
  ASSERT_THAT(LeavesOf(since), ElementsAre("Decoder::Next"));
  EXPECT_EQ(since[0]["hangs"], Truth(Both(OfApp("player", "1.9"), OfCause("Decoder::Next"))).hangs);
  NextQuestion();
  EXPECT_EQ(Ask("/v1/clusters", "app=editor&new_in=2.1.0"), Json::array());
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "app=editor&new_in=2.4.0&version=2.3.0").status, 400);
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters", "new_in=2.4.0").status, 400);
}

TEST_F(AnalystQuestions, WhichDistributionsACauseIsOn) {
  const HangTruth truth = Truth(OfCause("Gpu::Upload"));
  const Json parts = BreakdownOf("editor", "Gpu::Upload");
  ASSERT_EQ(parts["distribution"]["values"].size(), 1u) << parts;
  const Json& fedora = parts["distribution"]["values"][0];
  EXPECT_EQ(fedora["value"], PlantedMonth::kFedora);
  EXPECT_EQ(fedora["hangs"], truth.hangs);
  EXPECT_EQ(fedora["share"], 1.0);
  NextQuestion();
  const std::map<std::string, double> all = SharesOf(BreakdownOf("editor", "SaveFile")["distribution"]);
  ASSERT_EQ(all.size(), 4u);
  for (const auto& [name, share] : all) {
    const auto is_there = [&, wanted = name](const PlantedHang& hang) {
      return PlantedMonth::DistributionOf(hang.user) == wanted;
    };
    EXPECT_NEAR(share,
                Truth(Both(OfCause("SaveFile"), is_there)).hang_ms / Truth(OfCause("SaveFile")).hang_ms, 1e-6)
        << name;
  }
}

TEST_F(AnalystQuestions, IsItOneUserOrMany) {
  const Json of_one = BreakdownOf("editor", "Backup::Copy")["all"];
  EXPECT_EQ(of_one["hangs"], Truth(OfCause("Backup::Copy")).hangs);
  EXPECT_EQ(of_one["users"], 1);
  EXPECT_EQ(of_one["largest_user_share"], 1.0);
  NextQuestion();
  const HangTruth truth = Truth(OfCause("SaveFile"));
  const Json of_many = BreakdownOf("editor", "SaveFile")["all"];
  EXPECT_NEAR(of_many["users"].get<double>(), static_cast<double>(truth.users.size()),
              0.05 * static_cast<double>(truth.users.size()));
  double largest_ms = 0;
  for (const int user : truth.users) {
    const auto is_theirs = [=](const PlantedHang& hang) { return hang.user == user; };
    largest_ms = std::max(largest_ms, Truth(Both(OfCause("SaveFile"), is_theirs)).hang_ms);
  }
  EXPECT_NEAR(of_many["largest_user_share"].get<double>(), largest_ms / truth.hang_ms, 1e-6);
}

TEST_F(AnalystQuestions, WhichPluginACauseIsIn) {
  const Json cause = CauseIn(Ask("/v1/clusters", "app=editor&packages=10"), "ParseOutline");
  EXPECT_EQ(cause["packages"][0]["package"], "liboutline.so") << cause["packages"];
  const Json packages =
      Ask("/v1/clusters/" + cause["key"].get<std::string>() + "/samples", "limit=1000")["packages"];
  const auto is_in_plugin = [](const PlantedHang& hang) { return hang.is_in_plugin; };
  const double share = static_cast<double>(Truth(Both(OfCause("ParseOutline"), is_in_plugin)).hangs) /
                       static_cast<double>(Truth(OfCause("ParseOutline")).hangs);
  EXPECT_EQ(packages[0]["package"], "liboutline.so");
  EXPECT_NEAR(packages[0]["share"].get<double>(), share, 1e-3);
  EXPECT_LT(share, 0.99);
}

TEST_F(AnalystQuestions, HangsPerHourOfUseByVersion) {
  const Json usage = Ask("/v1/usage", "app=editor");
  ASSERT_EQ(usage.size(), 5u);
  for (const Json& each : usage) {
    const auto truth = UseOf(month_, "editor", each["version"]);
    EXPECT_EQ(each["hangs"], truth.hangs) << each["version"];
    EXPECT_NEAR(each["watched_ms"].get<double>(), truth.watched_ms, 1) << each["version"];
    EXPECT_NEAR(each["hang_ms_per_hour"]["all"].get<double>(), truth.hang_ms / (truth.watched_ms / 3'600'000),
                0.01)
        << each["version"];
  }
}

TEST_F(AnalystQuestions, FirstAndLastVersionOfACause) {
  const Json list = Ask("/v1/clusters", "state=all");
  for (const testing::PlantedCause& planted : month_.causes()) {
    const Json cause = CauseIn(list, planted.leaf);
    EXPECT_EQ(cause["first_version"], planted.hangs_a_day.front().first) << planted.leaf;
    EXPECT_EQ(cause["last_version"], planted.hangs_a_day.back().first) << planted.leaf;
  }
}

TEST_F(AnalystQuestions, WhatTheLongestHangsHaveInCommon) {
  const auto is_long = [](const PlantedHang& hang) { return hang.hang_ms >= 20'000; };
  const Json parts = Ask("/v1/breakdown", "least_ms=20000");
  EXPECT_EQ(parts["all"]["hangs"], Truth(is_long).hangs);
  EXPECT_NEAR(parts["all"]["hang_ms"].get<double>(), Truth(is_long).hang_ms, 0.01);
  const std::map<std::string, std::string> common = {
      {"app", "mail"}, {"tag", "sync"}, {"verdict", "network"}, {"distribution", PlantedMonth::kDebian}};
  for (const auto& [text, value] : common)
    EXPECT_EQ(SharesOf(parts[text]), (std::map<std::string, double>{{value, 1.0}})) << text;
  EXPECT_GT(parts["os"]["values"].size(), 1u);
  EXPECT_EQ(Ask("/v1/breakdown", "least_ms=100000000")["all"]["hangs"], 0);
}

TEST_F(AnalystQuestions, DoesAKernelMatter) {
  const auto is_there = [](const PlantedHang& hang) {
    return PlantedMonth::KernelOf(hang.user) == PlantedMonth::kSlowKernel;
  };
  for (const char* leaf : {"Journal::Flush", "SaveFile"}) {
    NextQuestion();
    const Json os = BreakdownOf("editor", leaf)["os"];
    EXPECT_NEAR(SharesOf(os)[PlantedMonth::kSlowKernel],
                Truth(Both(OfCause(leaf), is_there)).hang_ms / Truth(OfCause(leaf)).hang_ms, 1e-6)
        << leaf;
  }
  EXPECT_GT(Truth(Both(OfCause("Journal::Flush"), is_there)).hangs * 10,
            Truth(OfCause("Journal::Flush")).hangs * 8);
}

TEST_F(AnalystQuestions, WhichCauseIsInALoop) {
  EXPECT_THAT(LeavesOf(Ask("/v1/clusters", "loop=wayland")), ElementsAre("Gpu::Upload"));
}

TEST_F(AnalystQuestions, ShareOfVerdicts) {
  const std::map<std::string, double> shares = SharesOf(Ask("/v1/breakdown", "app=editor")["verdict"]);
  ASSERT_EQ(shares.size(), 4u);
  for (const auto& [word, share] : shares) {
    const auto is_so = [&, wanted = word](const PlantedHang& hang) {
      return policies::VerdictName(hang.cause->word) == wanted;
    };
    EXPECT_NEAR(share, Truth(Both(OfApp("editor"), is_so)).hang_ms / Truth(OfApp("editor")).hang_ms, 1e-6)
        << word;
  }
}

}  // namespace
}  // namespace lagwatch::collector
