// SPDX-License-Identifier: Apache-2.0
#include "policies/verdict.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lagwatch::policies {
namespace {

int64_t SumOf(const TimeShares& shares) {
  int64_t sum_ns = 0;
  for (const TimeShare& share : kTimeShares) sum_ns += shares.*share.ns;
  return sum_ns;
}

struct JudgeCase {
  const char* name;
  TimeShares shares;  // in anything but nanoseconds: only proportions count
  bool is_deadlock;
  VerdictWord word;
};

class JudgeTest : public ::testing::TestWithParam<JudgeCase> {};

TEST_P(JudgeTest, FindsTheWord) {
  EXPECT_STREQ(VerdictName(Judge(GetParam().shares, GetParam().is_deadlock)), VerdictName(GetParam().word));
}

INSTANTIATE_TEST_SUITE_P(
    Judge, JudgeTest,
    ::testing::ValuesIn(std::vector<JudgeCase>{
        {"Nothing", {}, false, VerdictWord::kUnknown},
        {"OneKindOfCpu", {.wall_ns = 100, .user_ns = 97}, false, VerdictWord::kCpu},
        {"CpuIsTheSumOfBothKinds",
         {.wall_ns = 100, .user_ns = 30, .kernel_ns = 30, .disk_ns = 40},
         false,
         VerdictWord::kCpu},
        {"TheLargestWins",
         {.wall_ns = 100, .user_ns = 20, .lock_ns = 35, .network_ns = 45},
         false,
         VerdictWord::kNetwork},
        {"AWaitComesBeforeAnEqualPartOfCpu",
         {.wall_ns = 100, .user_ns = 50, .disk_ns = 50},
         false,
         VerdictWord::kDisk},
        {"ALockComesBeforeAnEqualSleep",
         {.wall_ns = 100, .lock_ns = 50, .sleep_ns = 50},
         false,
         VerdictWord::kLock},
        {"ADeadlockIsOneWhateverCameBefore",
         {.wall_ns = 100, .user_ns = 90, .lock_ns = 10},
         true,
         VerdictWord::kDeadlock},
        {"HalfInTheQueueIsNotStarved",
         {.wall_ns = 100, .user_ns = 50, .run_queue_ns = 50},
         false,
         VerdictWord::kCpu},
        {"MoreThanHalfInTheQueueIs",
         {.wall_ns = 100, .user_ns = 49, .run_queue_ns = 51},
         false,
         VerdictWord::kStarved},
        {"TheQueueIsNeverAmongTheLargest",
         {.wall_ns = 100, .user_ns = 30, .run_queue_ns = 45, .memory_ns = 25},
         false,
         VerdictWord::kCpu},
        {"AQuartersQuotaIsThrottled",
         {.wall_ns = 100, .user_ns = 20, .run_queue_ns = 60, .throttled_ns = 20},
         false,
         VerdictWord::kThrottled},
        {"LessIsNot",
         {.wall_ns = 100, .user_ns = 20, .run_queue_ns = 61, .throttled_ns = 19},
         false,
         VerdictWord::kStarved},
        {"MostlyUnknownIsUnknown", {.wall_ns = 100, .disk_ns = 40}, false, VerdictWord::kUnknown},
        {"ALittleUnknownIsNot", {.wall_ns = 100, .disk_ns = 50}, false, VerdictWord::kDisk},
        {"Memory", {.wall_ns = 100, .memory_ns = 90}, false, VerdictWord::kMemory},
        {"Sleep", {.wall_ns = 100, .sleep_ns = 90}, false, VerdictWord::kSleep},
        {"Stopped", {.wall_ns = 100, .stopped_ns = 90}, false, VerdictWord::kStopped},
    }),
    [](const auto& test) { return std::string(test.param.name); });

TEST(JudgeWithProcessor, LeavesTheQueueOut) {
  const auto word_of = [](const TimeShares& shares) { return JudgeWithProcessor(shares); };
  EXPECT_EQ(word_of({.wall_ns = 100, .user_ns = 2, .run_queue_ns = 98}), VerdictWord::kCpu);
  EXPECT_EQ(word_of({.wall_ns = 100, .user_ns = 1, .run_queue_ns = 60, .lock_ns = 39}), VerdictWord::kLock);
  EXPECT_EQ(word_of({.wall_ns = 100, .kernel_ns = 5, .throttled_ns = 94}), VerdictWord::kCpu);
  EXPECT_EQ(word_of({.wall_ns = 100, .run_queue_ns = 100}), VerdictWord::kCpu);
  EXPECT_EQ(word_of({.wall_ns = 100, .user_ns = 2, .run_queue_ns = 60}), VerdictWord::kUnknown);
}

// Looks at a thread, one each 100 ns.
class TimeAccountTest : public ::testing::Test {
 protected:
  TimeAccountTest() { account_.Open(look_); }

  // The thread has used `cpu_ns` since the last look, has ended `queue_ns` of waits in the queue, and is
  // found doing `doing`.
  void Look(Doing doing, int64_t cpu_ns = 0, int64_t queue_ns = 0) {
    look_.mono_ns += 100;
    look_.doing = doing;
    look_.use.cpu_ns += cpu_ns;
    look_.user_ns += cpu_ns;
    look_.run_queue_ns += queue_ns;
    account_.Add(look_);
    EXPECT_LE(SumOf(account_.Shares(0)), account_.Shares(0).wall_ns);
  }
  void OpenDoing(Doing doing) {
    look_.doing = doing;
    account_.Open(look_);
  }
  TimeShares Shares(int64_t throttled_ns = 0) const { return account_.Shares(throttled_ns); }

  static ThreadUse UseOfCpu(int64_t cpu_ns) {
    ThreadUse use{};
    use.cpu_ns = cpu_ns;
    return use;
  }

  ThreadLook look_{
      .mono_ns = 1'000, .doing = Doing::kRunning, .user_ns = 500, .run_queue_ns = 700, .use = UseOfCpu(500)};
  TimeAccount account_;
};

TEST_F(TimeAccountTest, CountsFromTheFirstLookOn) {
  Look(Doing::kRunning, 100);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 100, .user_ns = 100}));
  account_.Open(look_);
  EXPECT_EQ(Shares(), TimeShares{});
  EXPECT_EQ(account_.use(), ThreadUse{});
}

TEST_F(TimeAccountTest, SplitsTheExactCpuTimeByTheCoarseOnes) {
  look_.mono_ns += 100;
  look_.use.cpu_ns += 80;
  look_.user_ns += 10;
  look_.kernel_ns += 30;
  account_.Add(look_);
  EXPECT_EQ(Shares().user_ns, 20);
  EXPECT_EQ(Shares().kernel_ns, 60);
}

TEST_F(TimeAccountTest, CpuWithoutATickIsTheProgramsOwn) {
  look_.mono_ns += 100;
  look_.use.cpu_ns += 80;
  account_.Add(look_);
  EXPECT_EQ(Shares().user_ns, 80);
}

TEST_F(TimeAccountTest, AWaitBetweenTwoEqualLooksIsThat) {
  OpenDoing(Doing::kDisk);
  Look(Doing::kDisk, 10, 20);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 100, .user_ns = 10, .run_queue_ns = 20, .disk_ns = 70}));
}

TEST_F(TimeAccountTest, AWaitBetweenTwoDifferentLooksIsHalfAndHalf) {
  OpenDoing(Doing::kDisk);
  Look(Doing::kLock);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 100, .lock_ns = 50, .disk_ns = 50}));
}

TEST_F(TimeAccountTest, ALookThatFindsItRunningHasNoPartInTheWait) {
  Look(Doing::kNetwork, 40);
  Look(Doing::kRunning, 40);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 200, .user_ns = 80, .network_ns = 120}));
}

TEST_F(TimeAccountTest, WaitsTooShortToBeSeenAreLikeThoseThatWereSeen) {
  Look(Doing::kRunning, 20);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 100, .user_ns = 20}));
  Look(Doing::kDisk, 100);
  Look(Doing::kDisk);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 300, .user_ns = 120, .disk_ns = 180}));
}

TEST_F(TimeAccountTest, WaitsThatAreNeverSeenAreDiskAsFarAsBlockIoIsCounted) {
  look_.block_io_ns += 30;
  Look(Doing::kRunning, 20);
  EXPECT_EQ(Shares().disk_ns, 30);
  look_.block_io_ns += 3'000;
  Look(Doing::kRunning, 100);
  EXPECT_EQ(Shares().disk_ns, 80);
}

TEST_F(TimeAccountTest, AWaitInTheQueueThatTheKernelTellsOfLateIsCountedOnce) {
  OpenDoing(Doing::kQueued);
  Look(Doing::kQueued);
  Look(Doing::kQueued);
  EXPECT_EQ(Shares().run_queue_ns, 200);
  Look(Doing::kRunning, 50, 250);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 300, .user_ns = 50, .run_queue_ns = 250}));
  // This look is new to it.
  Look(Doing::kRunning, 60, 40);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 400, .user_ns = 110, .run_queue_ns = 290}));
}

TEST_F(TimeAccountTest, TheQueueIsNeverMoreThanTheKernelsOwnSumOnceAWaitIsOver) {
  Look(Doing::kQueued, 10);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 100, .user_ns = 10, .run_queue_ns = 90}));
  Look(Doing::kRunning, 80, 20);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 200, .user_ns = 90, .run_queue_ns = 20}));
}

TEST_F(TimeAccountTest, ASumThatWasReadTooEarlyIsBelievedWhenItComes) {
  Look(Doing::kQueued);
  Look(Doing::kQueued);
  Look(Doing::kRunning, 10);  // it was, but the sum was read just before
  EXPECT_EQ(Shares().run_queue_ns, 0);
  Look(Doing::kRunning, 100, 260);
  EXPECT_EQ(Shares().run_queue_ns, 260);
}

TEST_F(TimeAccountTest, AQuotaIsToBlameForAWaitThatTheQueuesSumDoesNotHave) {
  Look(Doing::kQueued);
  Look(Doing::kRunning, 20, 30);
  EXPECT_EQ(Shares(100), (TimeShares{.wall_ns = 200, .user_ns = 20, .throttled_ns = 100}));
}

TEST_F(TimeAccountTest, AStopIsNoOnesTime) {
  Look(Doing::kRunning, 100);
  look_.mono_ns += 1'500;
  account_.Discount(1'500, look_.mono_ns);
  Look(Doing::kQueued, 10);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 200, .user_ns = 110, .run_queue_ns = 90}));
}

TEST_F(TimeAccountTest, AStopThatALookHasTakenForAWaitIsTakenOffAgain) {
  look_.mono_ns += 1'500;
  Look(Doing::kQueued, 10);
  EXPECT_EQ(Shares().run_queue_ns, 1'590);
  account_.Discount(1'500, look_.mono_ns);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 100, .user_ns = 10, .run_queue_ns = 90}));
  Look(Doing::kRunning, 50, 140);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 200, .user_ns = 60, .run_queue_ns = 140}));
}

TEST_F(TimeAccountTest, AWaitInTheQueueFromBeforeTheFirstLookIsNotCounted) {
  OpenDoing(Doing::kQueued);
  Look(Doing::kRunning, 10, 5'000);
  EXPECT_EQ(Shares(), (TimeShares{.wall_ns = 100, .user_ns = 10, .run_queue_ns = 90}));
}

TEST_F(TimeAccountTest, AQuotaIsToBlameForNoMoreThanTheQueue) {
  Look(Doing::kRunning, 20, 80);
  EXPECT_EQ(Shares(30), (TimeShares{.wall_ns = 100, .user_ns = 20, .run_queue_ns = 50, .throttled_ns = 30}));
  EXPECT_EQ(Shares(9'000), (TimeShares{.wall_ns = 100, .user_ns = 20, .throttled_ns = 80}));
  EXPECT_EQ(Shares(-5).throttled_ns, 0);
}

TEST_F(TimeAccountTest, AskewCountersNeverExceedTheWall) {
  Look(Doing::kDisk, 900, 900);
  Look(Doing::kQueued, 30, 900);
  Look(Doing::kStopped, 0, 900);
  Look(Doing::kUnknown, -5, -5);
  EXPECT_EQ(Shares().wall_ns, 400);
  EXPECT_GE(Shares().user_ns, 130);
}

TEST_F(TimeAccountTest, UseIsSinceTheLookBeforeAndInAll) {
  ThreadUse step{
      .cpu_ns = 1, .minor_faults = 2, .major_faults = 3, .voluntary_switches = 4, .involuntary_switches = 5};
  ThreadUse total = look_.use;
  for (int i = 1; i <= 2; ++i) {
    look_.mono_ns += 100;
    look_.use = {total.cpu_ns + i, 2 * i, 3 * i, 4 * i, 5 * i};
    EXPECT_EQ(account_.Add(look_), step);
  }
  EXPECT_EQ(account_.use(), (ThreadUse{2, 4, 6, 8, 10}));
}

TEST_F(TimeAccountTest, ALookThatIsNotLaterChangesNothing) {
  Look(Doing::kDisk, 10);
  TimeShares before = Shares();
  look_.mono_ns -= 50;
  look_.use.cpu_ns += 10;
  EXPECT_EQ(account_.Add(look_), ThreadUse{});
  EXPECT_EQ(Shares(), before);
  EXPECT_EQ(account_.look_count(), 2);
}

}  // namespace
}  // namespace lagwatch::policies
