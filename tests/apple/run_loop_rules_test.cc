// SPDX-License-Identifier: Apache-2.0
// The rules of run loops over the activities that CFRunLoop reports, as its source has their order.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "sdk/apple/LWDispatches.h"
#include "sdk/apple/LWRunLoopRules.h"
}

namespace lagwatch {
namespace {

// A watched loop: "[" begins a dispatch, "]" ends one, "f" ends a frame, "-" does nothing.
class WatchedLoop {
 public:
  std::string Start() { return Text(LWRunLoopRulesStart(&rules_)); }
  std::string See(LWActivity activity) { return Text(LWRunLoopRulesNext(&rules_, activity, 1)); }
  std::string SeeInPrivateMode(LWActivity activity) { return Text(LWRunLoopRulesNext(&rules_, activity, 0)); }
  bool BeginFrame() { return LWRunLoopRulesBeginFrame(&rules_) != 0; }
  bool is_in_dispatch() const { return rules_.is_in_dispatch != 0; }

  std::string Wait() { return SeeBoth(LWActivityBeforeWaiting, LWActivityAfterWaiting); }
  std::string BeginTurn() { return SeeBoth(LWActivityBeforeTimers, LWActivityBeforeSources); }

 private:
  std::string SeeBoth(LWActivity first, LWActivity second) {
    const std::string text = See(first);
    return text + See(second);
  }
  static std::string Text(unsigned steps) {
    std::string text;
    if (steps & LWStepEndFrame) text += "f";
    if (steps & LWStepEndDispatch) text += "]";
    if (steps & LWStepBeginDispatch) text += "[";
    return text.empty() ? "-" : text;
  }
  LWRunLoopRules rules_ = {};
};

TEST(RunLoopRules, ADispatchLastsFromOneWaitToTheNext) {
  WatchedLoop loop;
  EXPECT_EQ(loop.Start(), "[");
  EXPECT_EQ(loop.See(LWActivityEntry), "][");
  EXPECT_EQ(loop.BeginTurn(), "][-");
  EXPECT_EQ(loop.See(LWActivityBeforeWaiting), "]");
  EXPECT_FALSE(loop.is_in_dispatch());
  EXPECT_EQ(loop.See(LWActivityAfterWaiting), "[");
}

TEST(RunLoopRules, EachTurnOfALoopThatNeverWaitsIsADispatch) {
  WatchedLoop loop;
  loop.Start();
  loop.See(LWActivityEntry);
  for (int turn = 0; turn < 3; ++turn) EXPECT_EQ(loop.BeginTurn(), "][-");
}

TEST(RunLoopRules, TurnsOfANestedLoopAreDispatchesOfTheirOwn) {
  WatchedLoop loop;
  loop.Start();
  loop.Wait();
  EXPECT_EQ(loop.See(LWActivityEntry), "][") << "the handler's part before the modal panel";
  EXPECT_EQ(loop.BeginTurn(), "][-");
  EXPECT_EQ(loop.Wait(), "][");
  EXPECT_EQ(loop.See(LWActivityExit), "][") << "the handler's part after it";
  EXPECT_EQ(loop.BeginTurn(), "][-");
}

TEST(RunLoopRules, ALoopInAPrivateModeIsAPartOfTheDispatch) {
  WatchedLoop loop;
  loop.Start();
  loop.Wait();
  for (LWActivity activity : {LWActivityEntry, LWActivityBeforeTimers, LWActivityBeforeSources,
                              LWActivityBeforeWaiting, LWActivityAfterWaiting, LWActivityExit}) {
    EXPECT_EQ(loop.SeeInPrivateMode(activity), "-");
    EXPECT_TRUE(loop.is_in_dispatch());
  }
  EXPECT_EQ(loop.BeginTurn(), "][-");
}

TEST(RunLoopRules, APanelInsideAPrivateLoopHasDispatchesOfItsOwn) {
  WatchedLoop loop;
  loop.Start();
  loop.SeeInPrivateMode(LWActivityEntry);
  EXPECT_EQ(loop.See(LWActivityEntry), "][");
  EXPECT_EQ(loop.Wait(), "][");
  EXPECT_EQ(loop.See(LWActivityExit), "][");
  EXPECT_EQ(loop.SeeInPrivateMode(LWActivityBeforeWaiting), "-");
}

TEST(RunLoopRules, TheTimeBetweenTwoRunsOfTheLoopIsADispatch) {
  WatchedLoop loop;
  loop.Start();
  loop.Wait();
  EXPECT_EQ(loop.See(LWActivityExit), "][") << "AppKit sends the event now";
  EXPECT_EQ(loop.See(LWActivityEntry), "][");
}

TEST(RunLoopRules, AWatchMayBeginInTheMiddleOfATurn) {
  for (LWActivity first : {LWActivityBeforeTimers, LWActivityBeforeSources, LWActivityBeforeWaiting,
                           LWActivityAfterWaiting, LWActivityExit}) {
    WatchedLoop loop;
    loop.Start();
    loop.See(first);
    EXPECT_EQ(loop.See(LWActivityBeforeWaiting), first == LWActivityBeforeWaiting ? "-" : "]");
    EXPECT_EQ(loop.See(LWActivityBeforeSources), "[") << "an observer that missed the wait's end";
  }
}

TEST(RunLoopRules, AnExceptionThatLeavesANestedLoopDoesNoHarm) {
  WatchedLoop loop;
  loop.Start();
  loop.Wait();
  loop.See(LWActivityEntry);
  loop.BeginTurn();  // an exception: neither a wait nor an exit follows
  EXPECT_EQ(loop.BeginTurn(), "][-");
  EXPECT_EQ(loop.See(LWActivityBeforeWaiting), "]");
}

TEST(RunLoopRules, AFrameEndsWithItsTurn) {
  WatchedLoop loop;
  loop.Start();
  loop.Wait();
  EXPECT_TRUE(loop.BeginFrame());
  EXPECT_FALSE(loop.BeginFrame()) << "a second display link";
  EXPECT_EQ(loop.SeeInPrivateMode(LWActivityBeforeWaiting), "-");
  EXPECT_EQ(loop.See(LWActivityBeforeWaiting), "f]");
  EXPECT_EQ(loop.See(LWActivityAfterWaiting), "[");
  EXPECT_TRUE(loop.BeginFrame());
  EXPECT_EQ(loop.See(LWActivityBeforeTimers), "f][") << "an always-ready loop";
}

TEST(Vsync, IsOnTheMonotonicClock) {
  EXPECT_EQ(LWVsyncNs(5'000'000'000, 100.5, 100.25), 4'750'000'000u);
  EXPECT_EQ(LWVsyncNs(5'000'000'000, 100.5, 100.5), 5'000'000'000u);
  EXPECT_EQ(LWVsyncNs(5'000'000'000, 100.5, 100.75), 0u) << "in the future";
  EXPECT_EQ(LWVsyncNs(5'000'000'000, 100.5, 0), 0u) << "unknown, or from before a suspension";
  EXPECT_EQ(LWVsyncNs(100, 100.5, 100.25), 0u);
}

}  // namespace
}  // namespace lagwatch
