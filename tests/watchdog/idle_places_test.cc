// SPDX-License-Identifier: Apache-2.0
#include "watchdog/evidence/idle_places.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/process.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using base::kNsPerSecond;
using IdleAnswer = IdlePlaces::Answer;

constexpr uint64_t kManyDispatches = 50;

// Sleeps in `wait` until `wake` is called.
class SleepingThread {
 public:
  SleepingThread(std::function<void()> wait, std::function<void()> wake)
      : wake_(std::move(wake)), thread_([this, wait] {
          tid_.store(gettid());
          wait();
        }) {
    testing::WaitUntil([&] {
      stack::BlockedThread blocked{};
      const bool is_blocked =
          tid_.load() != 0 && stack::ReadThreadActivity(base::OwnThread(tid_.load()), &blocked) ==
                                  stack::ThreadActivity::kBlocked;
      if (is_blocked) stack_pointer_ = blocked.stack_pointer;
      return is_blocked && KindOfWait(blocked) != WaitKind::kOther;
    });
  }
  ~SleepingThread() {
    wake_();
    thread_.join();
  }
  SleepingThread(const SleepingThread&) = delete;
  SleepingThread& operator=(const SleepingThread&) = delete;
  int tid() const { return tid_.load(); }
  uintptr_t stack_pointer() const { return stack_pointer_; }

 private:
  std::function<void()> wake_;
  std::atomic<int> tid_{0};
  uintptr_t stack_pointer_ = 0;
  std::thread thread_;
};

class IdlePlacesTest : public ::testing::Test {
 protected:
  IdlePlacesTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
    places_.BeginLoop(0, now_ns_);
  }
  ~IdlePlacesTest() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  std::unique_ptr<SleepingThread> Reader() {
    return std::make_unique<SleepingThread>(
        [this] {
          char byte;
          (void)!read(ends_[0], &byte, 1);
        },
        [this] { (void)!write(ends_[1], "x", 1); });
  }
  // Wakes up each `period`, and sleeps again.
  std::unique_ptr<SleepingThread> Napper(std::chrono::milliseconds period) {
    is_over_.store(false);
    return std::make_unique<SleepingThread>(
        [this, period] {
          const timespec pause{.tv_sec = 0, .tv_nsec = period.count() * kNsPerMs};
          while (!is_over_.load()) nanosleep(&pause, nullptr);
        },
        [this] { is_over_.store(true); });
  }
  // So many dispatches have begun, the last of which goes on.
  void BeginDispatches(uint64_t count) {
    while (loop_.probe.begun() < count) {
      loop_.probe.End();
      loop_.probe.Begin("wait");
    }
  }
  IdleAnswer Check(const SleepingThread& thread, bool is_certain = false) {
    loop_.tid.store(thread.tid());
    capturer_->Capture(thread.tid(), &stack_);
    return places_.AtCheck(loop_.probe.begun(), loop_, stack_, is_certain, now_ns_, base::Process::Own(),
                           nullptr);
  }
  IdleAnswer LookAgain(const SleepingThread& thread) {
    return places_.AtWindow(loop_.probe.begun(), base::OwnThread(thread.tid()), nullptr);
  }
  // The dispatch ends, after so long, by the next wait of its loop.
  void Return(int64_t duration_ns) {
    now_ns_ += duration_ns;
    places_.EndDispatch(loop_.probe.begun(), duration_ns, true);
    BeginDispatches(loop_.probe.begun() + 1);
  }

  std::unique_ptr<stack::StackCapturer> capturer_ =
      stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
  stack::Stack stack_;
  int ends_[2];
  std::atomic<bool> is_over_{false};
  WatchedLoop loop_;
  IdlePlaces places_;
  int64_t now_ns_ = 1000 * kNsPerSecond;
};

TEST_F(IdlePlacesTest, WhatWaitsForAnEventAfterAFewPollsIsUnproven) {
  BeginDispatches(3);
  const auto reader = Reader();
  EXPECT_EQ(Check(*reader), IdleAnswer::kUnproven);
  EXPECT_EQ(LookAgain(*reader), IdleAnswer::kUnproven);
  const uint64_t number = loop_.probe.begun();
  EXPECT_TRUE(places_.IsProven(number, loop_));  // once it polls again,
  EXPECT_FALSE(places_.IsProvenByEnd(number));   // but a program may end afterwards
  EXPECT_TRUE(places_.MayHang());
}

TEST_F(IdlePlacesTest, ALockIsNoIdleness) {
  BeginDispatches(3);
  const auto reader = Reader();
  EXPECT_EQ(Check(*reader, /*is_certain=*/true), IdleAnswer::kHang);
}

TEST_F(IdlePlacesTest, AWaitBelowANewLoopsFrameIsUnprovenWhereAClientMayWaitAsWell) {
  BeginDispatches(5);
  const auto reader = Reader();
  loop_.home_frame.store(reader->stack_pointer() + 1000);
  loop_.is_home_shared.store(true);
  loop_.home_doubtful_depth.store(kDeepestStackBytes);
  EXPECT_EQ(Check(*reader), IdleAnswer::kUnproven);
  loop_.home_doubtful_depth.store(kHelperBytes);  // of many descriptors
  EXPECT_EQ(Check(*reader), IdleAnswer::kHang);
  loop_.home_frame.store(reader->stack_pointer() + 100);
  EXPECT_EQ(Check(*reader), IdleAnswer::kUnproven);
  loop_.polled_descriptor.store(ends_[0]);
  EXPECT_EQ(Check(*reader), IdleAnswer::kIdle);
}

TEST_F(IdlePlacesTest, WhatMayBeAnotherLoopsTimeIsUnprovenUntilTheThreadComesBack) {
  BeginDispatches(kManyDispatches);
  const auto reader = Reader();
  const uint64_t number = loop_.probe.begun();
  loop_.home_frame.store(reader->stack_pointer() + 1000);
  loop_.has_doubtful_wait.store(true);
  EXPECT_EQ(Check(*reader), IdleAnswer::kUnproven);
  EXPECT_FALSE(places_.MayHang());
  EXPECT_FALSE(places_.IsProvenByEnd(number));
  EXPECT_TRUE(places_.IsProven(number, loop_));
  loop_.home_moves.fetch_add(1);
  EXPECT_FALSE(places_.IsProven(number, loop_));  // it was another loop's
}

TEST_F(IdlePlacesTest, ASleepAfterAFewPollsIsUnprovenUntilItComesAgain) {
  BeginDispatches(3);
  const auto napper = Napper(std::chrono::milliseconds(400));
  EXPECT_EQ(Check(*napper), IdleAnswer::kUnproven);
  EXPECT_TRUE(places_.IsUnproven(loop_.probe.begun()));
  EXPECT_EQ(LookAgain(*napper), IdleAnswer::kUnproven);
  EXPECT_TRUE(testing::WaitUntil([&] { return LookAgain(*napper) == IdleAnswer::kIdle; }, 5));
  EXPECT_FALSE(places_.IsUnproven(loop_.probe.begun()));
}

TEST_F(IdlePlacesTest, AWaitBelowTheLoopsFrameIsAHandlers) {
  for (uint64_t count : {uint64_t{5}, kManyDispatches}) {
    BeginDispatches(count);
    const auto reader = Reader();
    loop_.home_frame.store(reader->stack_pointer() + 100);
    EXPECT_EQ(Check(*reader), IdleAnswer::kHang);
    Return(100 * kNsPerSecond);
    EXPECT_EQ(Check(*reader), IdleAnswer::kHang) << "however often it was there";
  }
}

TEST_F(IdlePlacesTest, AWaitAboveTheLoopsFrameIsUnprovenUntilTheThreadHasComeBackFromThere) {
  BeginDispatches(kManyDispatches);
  const auto reader = Reader();
  loop_.home_frame.store(reader->stack_pointer() - 4096);
  EXPECT_EQ(Check(*reader), IdleAnswer::kUnproven);
  EXPECT_EQ(LookAgain(*reader), IdleAnswer::kUnproven);
  now_ns_ += 100 * kNsPerSecond;  // in the loop
  Return(1 * kNsPerSecond);
  EXPECT_EQ(Check(*reader), IdleAnswer::kHang);
}

TEST_F(IdlePlacesTest, AThreadOfNoLoopMayWaitForTheDescriptorThatItPolls) {
  BeginDispatches(kManyDispatches);
  const auto reader = Reader();
  EXPECT_EQ(Check(*reader), IdleAnswer::kHang);
  loop_.polled_descriptor.store(ends_[0]);
  EXPECT_EQ(Check(*reader), IdleAnswer::kIdle);
}

TEST_F(IdlePlacesTest, WhereAThreadOfNoLoopSpendsMostOfItsTimeItIdles) {
  BeginDispatches(kManyDispatches);
  const auto reader = Reader();
  EXPECT_EQ(Check(*reader), IdleAnswer::kHang);
  Return(10 * kNsPerSecond);
  EXPECT_EQ(Check(*reader), IdleAnswer::kHang);
  Return(10 * kNsPerSecond);
  EXPECT_EQ(Check(*reader), IdleAnswer::kIdle);
  Return(10 * kNsPerSecond);
  now_ns_ += 100 * kNsPerSecond;  // elsewhere
  EXPECT_EQ(Check(*reader), IdleAnswer::kHang);
}

TEST_F(IdlePlacesTest, AThreadThatRunsOrIsGoneDoesNotHangHere) {
  BeginDispatches(3);
  std::atomic<bool> is_over{false};
  std::atomic<int> tid{0};
  std::thread runner([&] {
    tid.store(gettid());
    while (!is_over.load()) {
    }
  });
  testing::WaitUntil([&] { return tid.load() != 0; });
  loop_.tid.store(tid.load());
  stack_.Clear();
  EXPECT_EQ(places_.AtCheck(3, loop_, stack_, false, now_ns_, base::Process::Own(), nullptr),
            IdleAnswer::kHang);
  is_over.store(true);
  runner.join();
  EXPECT_EQ(places_.AtCheck(3, loop_, stack_, false, now_ns_, base::Process::Own(), nullptr),
            IdleAnswer::kIdle);
}

TEST(CountCommonFrames, BeginsAtTheOutermost) {
  static stack::Stack one;
  static stack::Stack other;
  one.frame_count = 3;
  other.frame_count = 2;
  one.frames[0] = {0, 1, 0};
  one.frames[1] = {0, 2, 0};
  one.frames[2] = {0, 3, 0};
  other.frames[0] = {0, 4, 0};
  other.frames[1] = {0, 3, 0};
  EXPECT_EQ(CountCommonFrames(one, other), 1u);
  EXPECT_EQ(CountCommonFrames(one, one), 3u);
}

TEST(KindOfWait, GoesByTheCallAndItsTimeLimit) {
  const auto kind = [](int64_t number, std::array<uint64_t, 6> arguments) {
    stack::BlockedThread blocked{};
    blocked.syscall_number = number;
    std::ranges::copy(arguments, blocked.arguments);
    return KindOfWait(blocked);
  };
  EXPECT_EQ(kind(SYS_epoll_pwait2, {3, 1, 1, 0}), WaitKind::kEvent);
  EXPECT_EQ(kind(SYS_epoll_pwait2, {3, 1, 1, 1}), WaitKind::kTime);
  EXPECT_EQ(kind(SYS_epoll_pwait, {3, 1, 1, 0xffff'ffff}), WaitKind::kEvent);
  EXPECT_EQ(kind(SYS_epoll_pwait, {3, 1, 1, 0}), WaitKind::kTime);
  EXPECT_EQ(kind(SYS_semtimedop, {1, 1, 1, 0}), WaitKind::kEvent);
  EXPECT_EQ(kind(SYS_semtimedop, {1, 1, 1, 1}), WaitKind::kTime);
  EXPECT_EQ(kind(SYS_io_pgetevents, {1, 1, 8, 1, 0, 1}), WaitKind::kEvent);
  EXPECT_EQ(kind(SYS_io_pgetevents, {1, 1, 8, 1, 1, 0}), WaitKind::kTime);
  EXPECT_EQ(kind(SYS_futex, {1, FUTEX_WAIT_BITSET_PRIVATE, 0, 0}), WaitKind::kEvent);
  EXPECT_EQ(kind(SYS_futex, {1, FUTEX_WAIT_BITSET_PRIVATE, 0, 1}), WaitKind::kTime);
  EXPECT_EQ(kind(SYS_futex, {1, FUTEX_WAIT_PRIVATE, 2, 0}), WaitKind::kOther);
  EXPECT_EQ(kind(SYS_futex, {1, FUTEX_LOCK_PI_PRIVATE, 0, 1}), WaitKind::kOther);
  EXPECT_EQ(kind(SYS_read, {3}), WaitKind::kEvent);
  EXPECT_EQ(kind(SYS_write, {3}), WaitKind::kOther);
  EXPECT_EQ(kind(SYS_fsync, {3}), WaitKind::kOther);
  EXPECT_EQ(kind(SYS_umask, {}), WaitKind::kOther);
}

}  // namespace
}  // namespace lagwatch::watchdog
