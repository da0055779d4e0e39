// SPDX-License-Identifier: Apache-2.0
#include "sdk/waits/object_home.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace lagwatch::sdk {
namespace {

using Use = ObjectHome::Use;

constexpr uintptr_t kLoopFrame = 0x7fff'0000;
constexpr ObjectCall kCondition{0x1000, kLoopFrame, 0xc0, ObjectKind::kLock};
constexpr ObjectCall kOtherCondition{0x1000, kLoopFrame, 0xd0, ObjectKind::kLock};
constexpr ObjectCall kSignal{0x2000, kLoopFrame, 0, ObjectKind::kOrders};
constexpr ObjectCall kSleep{0x3000, kLoopFrame, 0, ObjectKind::kFrame};
constexpr ObjectCall kHandlersSleep{0x3000, kLoopFrame - 64, 0, ObjectKind::kFrame};

class ObjectHomeTest : public ::testing::Test {
 protected:
  // One wait after so much work; whether it is the loop's.
  Use Wait(const ObjectCall& call, uint32_t waited_ms, uint32_t worked_ms = 1) {
    now_ms_ += worked_ms;
    const Use use = home_.Begin(call, now_ms_);
    now_ms_ += waited_ms;
    home_.End(call, now_ms_);
    return use;
  }
  void Repeat(int count, const ObjectCall& call, uint32_t waited_ms, uint32_t worked_ms = 1) {
    for (int i = 0; i < count; ++i) Wait(call, waited_ms, worked_ms);
  }

  ObjectHome home_;
  uint32_t now_ms_ = UINT32_MAX - 700;  // the clock wraps
};

TEST_F(ObjectHomeTest, IsWhereTheThreadSpendsMostOfItsTime) {
  Repeat(9, kCondition, 100);
  EXPECT_FALSE(home_.has_home());
  Repeat(2, kCondition, 100);
  EXPECT_TRUE(home_.has_home());
  EXPECT_EQ(home_.home_frame(), kLoopFrame);
  EXPECT_EQ(Wait(kCondition, 100), Use::kLoops);
  EXPECT_EQ(Wait(kOtherCondition, 100), Use::kHandlers);
}

TEST_F(ObjectHomeTest, IsForOrdersOrEventsWhereCautionIsAskedFor) {
  home_.SetCautious(true);
  Repeat(200, kCondition, 100);
  Repeat(200, kSleep, 16, 2);
  EXPECT_FALSE(home_.has_home());
  Repeat(31, kSignal, 1000);
  EXPECT_FALSE(home_.has_home());
  Repeat(200, kSignal, 1000);
  EXPECT_TRUE(home_.has_home());
}

TEST_F(ObjectHomeTest, IsNoneWhereTheThreadWaitsLessThanItWorks) {
  Repeat(200, kCondition, 10, 30);
  EXPECT_FALSE(home_.has_home());
}

TEST_F(ObjectHomeTest, IsNoneInTheFirstHalfSecond) {
  Repeat(100, kCondition, 3);
  EXPECT_FALSE(home_.has_home());
}

TEST_F(ObjectHomeTest, IsTheSameForAnObjectFromWhereverTheThreadWaits) {
  Repeat(20, kCondition, 100);
  const ObjectCall nested{0x5000, kLoopFrame - 4096, kCondition.object, ObjectKind::kLock};
  EXPECT_EQ(Wait(nested, 100), Use::kLoops);
  EXPECT_EQ(home_.home_frame(), kLoopFrame);
}

TEST_F(ObjectHomeTest, HasFramesThatAreShortAndWork) {
  Repeat(100, kSleep, 16, 2);
  EXPECT_TRUE(home_.has_home());
  EXPECT_EQ(Wait(kHandlersSleep, 16), Use::kHandlers);
}

TEST_F(ObjectHomeTest, HasNoFramesOfASecond) {
  Repeat(30, kSleep, 1000, 100);
  EXPECT_FALSE(home_.has_home());
}

TEST_F(ObjectHomeTest, HasNoFramesThatOnlyLookWhetherOthersAreDone) {
  Repeat(1000, kSleep, 10, 0);
  EXPECT_FALSE(home_.has_home());
}

TEST_F(ObjectHomeTest, ServesOrdersAndAnotherPlaceOfTheLoop) {
  Repeat(20, kCondition, 100);
  EXPECT_EQ(Wait(kSignal, 5000), Use::kLoops);
  for (int i = 0; i < 20; ++i) {
    Wait(kCondition, 100);
    Wait(kOtherCondition, 60);
  }
  EXPECT_EQ(Wait(kOtherCondition, 60), Use::kLoops);
}

TEST_F(ObjectHomeTest, CountsADispatchInWhichAnotherLoopWaitsAsAMove) {
  Repeat(20, kCondition, 100);
  const uint32_t moves = home_.moves();
  Repeat(7, kOtherCondition, 50);
  Wait(kCondition, 100);
  EXPECT_EQ(home_.moves(), moves);
  Repeat(8, kHandlersSleep, 50);
  Wait(kCondition, 100);
  EXPECT_EQ(home_.moves(), moves + 1);
}

TEST_F(ObjectHomeTest, IsLeftForAnotherLoop) {
  Repeat(20, kCondition, 100);
  Repeat(12, kOtherCondition, 1000);
  EXPECT_TRUE(home_.has_home());
  EXPECT_EQ(Wait(kOtherCondition, 1000), Use::kLoops);
  EXPECT_NE(Wait(kCondition, 100), Use::kLoops);
}

TEST_F(ObjectHomeTest, IsLeftForALoopThatPolls) {
  Repeat(20, kCondition, 100);
  EXPECT_EQ(home_.BeginPolled(/*is_loops=*/true, now_ms_), Use::kLoops);
  home_.EndPolled(now_ms_ += 60'000);
  EXPECT_TRUE(home_.has_home());
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(home_.BeginPolled(/*is_loops=*/false, now_ms_), Use::kHandlers);
    home_.EndPolled(now_ms_ += 1000);
  }
  EXPECT_FALSE(home_.has_home());
}

TEST_F(ObjectHomeTest, IsSettledSoonForOrdersAndLateForOtherThreads) {
  Repeat(40, kSignal, 50);
  EXPECT_TRUE(home_.IsSettled());
  home_ = {};
  Repeat(100, kCondition, 90);
  EXPECT_TRUE(home_.has_home());
  EXPECT_FALSE(home_.IsSettled());
  Repeat(100, kCondition, 90);
  EXPECT_TRUE(home_.IsSettled());
  home_ = {};
  Repeat(2000, kSleep, 16, 4);
  EXPECT_TRUE(home_.has_home());
  EXPECT_FALSE(home_.IsSettled());
}

TEST_F(ObjectHomeTest, ReadsOnlyWhereEventsComeFrom) {
  const int event = eventfd(0, EFD_CLOEXEC);
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const auto read = [](int fd) {
    return ObjectCall{0x4000, kLoopFrame, static_cast<uint64_t>(fd), ObjectKind::kRead};
  };
  Repeat(20, read(file), 100);
  EXPECT_FALSE(home_.has_home());
  home_ = {};
  Repeat(20, read(STDIN_FILENO), 100);
  EXPECT_FALSE(home_.has_home());
  home_ = {};
  Repeat(20, read(event), 100);
  EXPECT_TRUE(home_.has_home());
  EXPECT_EQ(Wait(read(STDIN_FILENO), 100), Use::kLoops);
  close(event);
  close(file);
}

TEST(IsSoon, KnowsBothClocks) {
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    timespec until{};
    clock_gettime(clock, &until);
    EXPECT_TRUE(IsSoon(until));
    until.tv_sec += 1;
    EXPECT_FALSE(IsSoon(until));
  }
}

}  // namespace
}  // namespace lagwatch::sdk
