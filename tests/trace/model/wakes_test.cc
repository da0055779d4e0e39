// SPDX-License-Identifier: Apache-2.0
#include "trace/model/wakes.h"

#include <gmock/gmock.h>

#include "tests/trace/model/trace_builder.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::kMs;
using lagwatch::testing::TraceBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kObject = 0x7f00;

class WakesTest : public ::testing::Test {
 protected:
  WakesTest() {
    for (const char* name : {"one", "two", "three"}) builder_.AddThread(name);
  }
  void Wait(uint32_t thread, int64_t begin_ms, int64_t end_ms, CallKind call, uint64_t object = kObject) {
    builder_.Wait(thread, begin_ms, end_ms, "main;wait", call, object);
  }
  void Woke(uint32_t thread, int64_t time_ms, CallKind call, uint64_t object = kObject) {
    builder_.Wake(thread, time_ms, "main;wake", call, object);
  }
  // "1@8 woke 2@9"
  std::vector<std::string> Told() const {
    std::vector<std::string> told;
    for (const Wake& wake : FindWakes(builder_.trace))
      told.push_back(std::to_string(wake.waker_thread) + "@" + std::to_string(wake.time_ns / kMs) + " woke " +
                     std::to_string(wake.waiter_thread) + "@" + std::to_string(wake.wake_ns / kMs));
    return told;
  }

  TraceBuilder builder_;
};

TEST_F(WakesTest, OfALockAreTheLastThatLetItGo) {
  Woke(1, 3, CallKind::kMutex);
  Woke(3, 8, CallKind::kMutex);  // had it for a moment, and did not wait
  Woke(1, 12, CallKind::kMutex);
  Wait(2, 1, 9, CallKind::kMutex);
  EXPECT_THAT(Told(), ElementsAre("3@8 woke 2@9"));
}

TEST_F(WakesTest, OfALockAreNoneOfItsOwnThreadOrOfAnotherTimeOrObject) {
  Woke(2, 8, CallKind::kMutex);
  Woke(1, 2, CallKind::kMutex);
  Woke(3, 7, CallKind::kMutex, kObject + 8);
  Woke(3, 7, CallKind::kRwLock);
  Wait(2, 5, 9, CallKind::kMutex);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(WakesTest, OfOneUnlockMayBeMany) {
  Woke(0, 5, CallKind::kRwLock);
  Wait(1, 1, 6, CallKind::kRwLock);
  Wait(2, 2, 7, CallKind::kRwLock);
  EXPECT_THAT(Told(), ElementsAre("0@5 woke 1@6", "0@5 woke 2@7"));
}

TEST_F(WakesTest, OfASignalAreOne) {
  Wait(1, 0, 20, CallKind::kCondition);  // 4 woke it, then it had to get the mutex back
  Wait(2, 6, 22, CallKind::kCondition);
  Wait(3, 1, 30, CallKind::kCondition);
  Woke(0, 4, CallKind::kCondition);
  Woke(0, 9, CallKind::kCondition);
  EXPECT_THAT(Told(), ElementsAre("0@4 woke 1@20", "0@9 woke 2@22"));
}

TEST_F(WakesTest, OfASignalWhenNobodyWaitsAreNone) {
  Woke(0, 4, CallKind::kCondition);
  Wait(1, 5, 9, CallKind::kCondition);
  Woke(0, 10, CallKind::kCondition);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(WakesTest, OfASignalForAllAreAllThatWait) {
  Wait(1, 0, 9, CallKind::kCondition);
  Wait(2, 1, 11, CallKind::kCondition);
  Wait(3, 8, 12, CallKind::kCondition);
  Woke(0, 5, CallKind::kCondition);
  builder_.trace.threads[0].runs.back().is_for_all = true;
  Woke(0, 10, CallKind::kCondition);
  EXPECT_THAT(Told(), ElementsAre("0@5 woke 1@9", "0@5 woke 2@11", "0@10 woke 3@12"));
}

TEST_F(WakesTest, OfAPostAreTheLastWhoWaitedForOne) {
  Woke(0, 2, CallKind::kSemaphore);  // taken by a thread that did not wait
  Woke(0, 6, CallKind::kSemaphore);
  Woke(3, 7, CallKind::kSemaphore);
  Wait(1, 0, 8, CallKind::kSemaphore);
  Wait(2, 1, 9, CallKind::kSemaphore);
  EXPECT_THAT(Told(), ElementsAre("0@6 woke 1@8", "3@7 woke 2@9"));
}

TEST_F(WakesTest, OfAJoinAreTheEndOfTheThread) {
  builder_.Add(1, RunKind::kSampled, 3, 6, "main;Work");
  Wait(0, 2, 7, CallKind::kJoin, static_cast<uint64_t>(builder_.trace.threads[1].tid));
  Woke(2, 8, CallKind::kJoin, kObject);
  Wait(0, 7, 9, CallKind::kJoin, kObject);
  EXPECT_THAT(Told(), ElementsAre("1@6 woke 0@7", "2@8 woke 0@9"));
}

}  // namespace
}  // namespace lagwatch::trace
