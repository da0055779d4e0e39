// SPDX-License-Identifier: Apache-2.0
// Of two functions that share a freeze, the one that took longer is to blame.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/testing/configured_collector.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

struct SharedFreeze {
  std::string name;
  std::string load_ms;
  std::string save_ms;
  std::string turns;
};

void PrintTo(const SharedFreeze& freeze, std::ostream* out) { *out << freeze.name; }

// The function that the hang counts at, and those that it does not.
struct Blamed {
  std::string lead;
  std::string others;
};

class SharesTest : public RunTest, public ::testing::WithParamInterface<SharedFreeze> {
 protected:
  static Blamed BlamedIn(const json& clusters) {
    Blamed blamed;
    for (const json& cluster : clusters)
      (cluster["hangs"] == 1 ? blamed.lead : blamed.others) += cluster["frames"].dump();
    return blamed;
  }
  json AskCollector() const {
    Process process({LAGWATCH_PROGRAM, "clusters", "--json", "--endpoint", collector_.endpoint(), "--token",
                     collector_.admin_token()});
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return json::parse(process.Output());
  }

  testing::ConfiguredCollector collector_{directory_ / "data"};
};

TEST_P(SharesTest, TheGreaterIsToBlameOnceTheHangIsOver) {
  const SharedFreeze& freeze = GetParam();
  Process process({LAGWATCH_PROGRAM, "run", "--threshold-ms", "500", "--spool", spool_, "--",
                   LAGWATCH_TWO_SHARES, freeze.load_ms, freeze.save_ms, freeze.turns});
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  const std::string names = process.Output();
  if (names.empty()) GTEST_SKIP() << "The machine is too busy: both took the same time.";
  const std::string greater = names.substr(0, names.find(' '));

  const json spooled = Ask({"clusters"});
  const Blamed blamed = BlamedIn(spooled);
  EXPECT_NE(blamed.lead.find(greater), std::string::npos) << spooled;
  EXPECT_EQ(blamed.others.find(greater), std::string::npos) << spooled;

  collector_.Start();
  Process upload({LAGWATCH_PROGRAM, "upload", "--spool", spool_, "--endpoint", collector_.endpoint(), "--key",
                  testing::ConfiguredCollector::kKey});
  EXPECT_EQ(upload.Wait(), 0) << upload.Errors();
  const json collected = AskCollector();
  EXPECT_NE(BlamedIn(collected).lead.find(greater), std::string::npos) << collected;
}

INSTANTIATE_TEST_SUITE_P(Shares, SharesTest,
                         ::testing::Values(SharedFreeze{"TheSmallerFirst", "480", "720", "1"},
                                           SharedFreeze{"TheMuchSmallerFirst", "560", "1040", "1"},
                                           SharedFreeze{"TheGreaterFirst", "720", "390", "1"},
                                           SharedFreeze{"ByTurns", "420", "780", "4"}),
                         [](const auto& freeze) { return freeze.param.name; });

}  // namespace
}  // namespace lagwatch::tools
