// SPDX-License-Identifier: Apache-2.0
#include "policies/hang_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

using ::testing::ElementsAre;

TEST(HangAccount, AReportAloneHasTheWholeHang) {
  HangAccount account = AccountHang(std::vector<HangReport>{{.elapsed_ns = 500}});
  EXPECT_EQ(account.duration_ns, std::nullopt);
  EXPECT_THAT(account.shares, ElementsAre(HangShare{500, true}));
}

TEST(HangAccount, EachStackHasTheTimeUpToTheNextReport) {
  HangAccount account =
      AccountHang(std::vector<HangReport>{{.elapsed_ns = 500, .ordinal = 0},
                                          {.elapsed_ns = 2000, .ordinal = 1},
                                          {.elapsed_ns = 3000, .ordinal = 2, .end_ns = 7000}});
  EXPECT_EQ(account.duration_ns, 7000);
  EXPECT_THAT(account.shares,
              ElementsAre(HangShare{2000, false}, HangShare{1000, false}, HangShare{4000, true}));
}

TEST(HangAccount, TheOrderOfArrivalDoesNotMatter) {
  HangAccount account = AccountHang(std::vector<HangReport>{
      {.elapsed_ns = 3000, .ordinal = 1, .end_ns = 9000}, {.elapsed_ns = 500, .end_ns = 9000}});
  EXPECT_THAT(account.shares, ElementsAre(HangShare{6000, true}, HangShare{3000, false}));
}

TEST(HangAccount, OfEqualPartsTheFirstLeads) {
  HangAccount account = AccountHang(
      std::vector<HangReport>{{.elapsed_ns = 500}, {.elapsed_ns = 2000, .ordinal = 1, .end_ns = 4000}});
  EXPECT_THAT(account.shares, ElementsAre(HangShare{2000, true}, HangShare{2000, false}));
}

TEST(HangAccount, TheReportToBlameLeads) {
  HangAccount account = AccountHang(
      std::vector<HangReport>{{.elapsed_ns = 500, .end_ns = 4000},
                              {.elapsed_ns = 4000, .ordinal = 1, .end_ns = 4000, .is_blamed = true}});
  EXPECT_THAT(account.shares, ElementsAre(HangShare{4000, false}, HangShare{0, true}));
}

TEST(HangAccount, AHangsOwnEndCountsBeforeItsRuns) {
  HangAccount account =
      AccountHang(std::vector<HangReport>{{.elapsed_ns = 500, .end_ns = 600, .killed_ns = 900}});
  EXPECT_EQ(account.duration_ns, 600);
  EXPECT_FALSE(account.was_killed);
}

TEST(HangAccount, AKilledHangIsAsLongAsItWasSeen) {
  HangAccount account = AccountHang(std::vector<HangReport>{{.elapsed_ns = 500, .killed_ns = 900}});
  EXPECT_EQ(account.duration_ns, 900);
  EXPECT_TRUE(account.was_killed);
  EXPECT_EQ(AccountHang(std::vector<HangReport>{{.elapsed_ns = 500, .killed_ns = 1}}).duration_ns, 500);
}

TEST(HangAccount, AnEndBeforeTheLastReportTakesNothingFromTheSum) {
  HangAccount account = AccountHang(
      std::vector<HangReport>{{.elapsed_ns = 500}, {.elapsed_ns = 5000, .ordinal = 1, .end_ns = 3000}});
  EXPECT_THAT(account.shares, ElementsAre(HangShare{3000, true}, HangShare{0, false}));
}

TEST(HangAccount, AHangStandsForAsManyUsersAsTheReportThatStandsForTheFewest) {
  const auto rate_of = [](std::vector<HangReport> reports) { return AccountHang(reports).sample_rate_ppm; };
  EXPECT_EQ(rate_of({{.elapsed_ns = 1, .sample_rate_ppm = 50'000}}), 50'000);
  EXPECT_EQ(
      rate_of({{.elapsed_ns = 1, .sample_rate_ppm = 50'000}, {.elapsed_ns = 2, .sample_rate_ppm = 10'000}}),
      50'000);
  EXPECT_EQ(rate_of({{.elapsed_ns = 1, .sample_rate_ppm = 50'000}, {.elapsed_ns = 2}}), 0);
  EXPECT_EQ(rate_of({{.elapsed_ns = 1}, {.elapsed_ns = 2, .sample_rate_ppm = 10'000}}), 0);
}

}  // namespace
}  // namespace lagwatch::policies
