// SPDX-License-Identifier: Apache-2.0
#include "policies/lag_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

using ::testing::ElementsAre;

TEST(LagAccount, AReportAloneHasTheWholeLag) {
  LagAccount account = AccountLag(std::vector<HangReport>{{.elapsed_ns = 500}});
  EXPECT_EQ(account.duration_ns, std::nullopt);
  EXPECT_THAT(account.shares, ElementsAre(LagShare{500, true}));
}

TEST(LagAccount, EachStackHasTheTimeUpToTheNextReport) {
  LagAccount account =
      AccountLag(std::vector<HangReport>{{.elapsed_ns = 500, .ordinal = 0},
                                         {.elapsed_ns = 2000, .ordinal = 1},
                                         {.elapsed_ns = 3000, .ordinal = 2, .end_ns = 7000}});
  EXPECT_EQ(account.duration_ns, 7000);
  EXPECT_THAT(account.shares,
              ElementsAre(LagShare{2000, false}, LagShare{1000, false}, LagShare{4000, true}));
}

TEST(LagAccount, TheOrderOfArrivalDoesNotMatter) {
  LagAccount account = AccountLag(std::vector<HangReport>{{.elapsed_ns = 3000, .ordinal = 1, .end_ns = 9000},
                                                          {.elapsed_ns = 500, .end_ns = 9000}});
  EXPECT_THAT(account.shares, ElementsAre(LagShare{6000, true}, LagShare{3000, false}));
}

TEST(LagAccount, OfEqualPartsTheFirstLeads) {
  LagAccount account = AccountLag(
      std::vector<HangReport>{{.elapsed_ns = 500}, {.elapsed_ns = 2000, .ordinal = 1, .end_ns = 4000}});
  EXPECT_THAT(account.shares, ElementsAre(LagShare{2000, true}, LagShare{2000, false}));
}

TEST(LagAccount, ALagsOwnEndCountsBeforeItsRuns) {
  LagAccount account =
      AccountLag(std::vector<HangReport>{{.elapsed_ns = 500, .end_ns = 600, .killed_ns = 900}});
  EXPECT_EQ(account.duration_ns, 600);
  EXPECT_FALSE(account.was_killed);
}

TEST(LagAccount, AKilledLagIsAsLongAsItWasSeen) {
  LagAccount account = AccountLag(std::vector<HangReport>{{.elapsed_ns = 500, .killed_ns = 900}});
  EXPECT_EQ(account.duration_ns, 900);
  EXPECT_TRUE(account.was_killed);
  EXPECT_EQ(AccountLag(std::vector<HangReport>{{.elapsed_ns = 500, .killed_ns = 1}}).duration_ns, 500);
}

TEST(LagAccount, AnEndBeforeTheLastReportTakesNothingFromTheSum) {
  LagAccount account = AccountLag(
      std::vector<HangReport>{{.elapsed_ns = 500}, {.elapsed_ns = 5000, .ordinal = 1, .end_ns = 3000}});
  EXPECT_THAT(account.shares, ElementsAre(LagShare{3000, true}, LagShare{0, false}));
}

}  // namespace
}  // namespace lagwatch::policies
