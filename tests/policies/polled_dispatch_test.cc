// SPDX-License-Identifier: Apache-2.0
#include "policies/polled_dispatch.h"

#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

using Action = PolledDispatch::Action;
using Moment = PolledDispatch::Moment;

class PolledDispatchTest : public ::testing::Test {
 protected:
  Action Look(const Moment& moment) { return dispatch_.Observe(moment); }
  static Moment Home() { return {.is_at_home = true}; }
  static Moment Asleep() { return {.is_continuous = true}; }
  static Moment Busy() { return {.has_paused = false}; }
  static Moment Mixed() { return {}; }

  PolledDispatch dispatch_{/*takes_probable=*/false};
};

TEST_F(PolledDispatchTest, LastsFromTheFirstLookAwayToTheFirstAtHome) {
  EXPECT_EQ(Look(Home()), Action::kNone);
  EXPECT_EQ(Look(Mixed()), Action::kBegin);
  EXPECT_EQ(Look(Asleep()), Action::kNone);
  EXPECT_EQ(Look(Home()), Action::kEnd);
  EXPECT_EQ(Look(Home()), Action::kNone);
}

TEST_F(PolledDispatchTest, GoesOnWhereNothingCanHaveBeenDispatched) {
  Look(Busy());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Look(i % 2 == 0 ? Busy() : Asleep()), Action::kNone);
}

TEST_F(PolledDispatchTest, BeginsAgainWhereTheThreadMayHaveBeenAtHome) {
  Look(Mixed());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Look(Mixed()), Action::kBeginAgain);
}

TEST_F(PolledDispatchTest, GoesOnWhileTheLoopsWaitDoesNotReturn) {
  Look(Mixed());
  ASSERT_TRUE(dispatch_.wants_returns());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Look({.returns = 0}), Action::kNone);
}

TEST_F(PolledDispatchTest, GoesOnFromTheFirstLookAfterAQuestionThatHasNoAnswer) {
  Look(Mixed());
  EXPECT_EQ(Look({.has_unanswered_ping = true}), Action::kBeginAgain);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Look({.has_unanswered_ping = true}), Action::kNone);
  EXPECT_EQ(Look(Mixed()), Action::kBeginAgain);
  EXPECT_EQ(Look({.has_unanswered_ping = true}), Action::kBeginAgain);
  EXPECT_EQ(Look({.returns = 1, .has_unanswered_ping = true}), Action::kBeginAgain);
}

TEST_F(PolledDispatchTest, GoesOnAtAQuestionInTheMiddleOfAComputation) {
  Look(Busy());
  EXPECT_EQ(Look(Busy()), Action::kNone);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(Look({.has_paused = false, .has_unanswered_ping = true}), Action::kNone);
}

TEST_F(PolledDispatchTest, AReturnProvesALoopThatIsOnlyBusy) {
  Look(Busy());
  EXPECT_EQ(Look({.has_paused = false, .returns = 1}), Action::kBeginAgain);
  EXPECT_TRUE(dispatch_.wants_returns());
}

TEST_F(PolledDispatchTest, ASleepNeedsNoProof) {
  Look(Mixed());
  Look(Asleep());
  EXPECT_FALSE(dispatch_.wants_returns());
  Look(Home());
  EXPECT_FALSE(dispatch_.wants_returns());
}

TEST_F(PolledDispatchTest, ProbableOnesGoOnIfTheyAreWanted) {
  dispatch_ = PolledDispatch(/*takes_probable=*/true);
  Look(Mixed());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Look(Mixed()), Action::kNone);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Look({.has_unanswered_ping = true}), Action::kNone);
}

}  // namespace
}  // namespace lagwatch::policies
