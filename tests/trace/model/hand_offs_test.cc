// SPDX-License-Identifier: Apache-2.0
// A thousand wakes of one thread by another one that is known.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>

#include "tests/trace/model/trace_builder.h"
#include "trace/model/wakes.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::TraceBuilder;

constexpr int64_t kUs = 1'000;
constexpr uint32_t kThreads = 6;
constexpr size_t kHandOffs = 1'000;

class HandOffs : public ::testing::TestWithParam<uint32_t> {
 protected:
  HandOffs() : random_(GetParam()) {
    for (uint32_t i = 1; i < kThreads; ++i) builder_.AddThread("worker");
    for (uint32_t i = 0; i < kThreads; ++i) idle_.insert(i);
    stack_ = builder_.Stack("main;call");
  }

  int64_t Us(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_) * kUs;
  }
  bool OneIn(int64_t count) { return Us(1, count) == kUs; }
  uint32_t Any(const std::set<uint32_t>& threads) {
    return *std::next(threads.begin(), Us(0, static_cast<int64_t>(threads.size()) - 1) / kUs);
  }
  void Move(uint32_t thread, std::set<uint32_t>* from, std::set<uint32_t>* to) {
    from->erase(thread);
    to->insert(thread);
  }

  void AddRun(uint32_t thread, RunKind kind, CallKind call, int64_t begin_ns, int64_t end_ns) {
    trace::Run run;
    run.begin_ns = begin_ns;
    run.end_ns = end_ns;
    run.stack = stack_;
    run.kind = kind;
    run.call = call;
    run.object = 0x1000;
    builder_.trace.threads[thread].runs.push_back(run);
  }
  void AddWait(uint32_t thread, CallKind call, int64_t end_ns, uint32_t waker, int64_t time_ns) {
    AddRun(thread, RunKind::kWaited, call, wait_begin_ns_[thread], end_ns);
    truth_[{thread, end_ns}] = {waker, time_ns};
  }

  void ExpectTruth() {
    const std::vector<Wake> wakes = FindWakes(builder_.trace);
    EXPECT_EQ(wakes.size(), truth_.size());
    size_t wrong = 0;
    for (const Wake& wake : wakes)
      wrong += truth_[{wake.waiter_thread, wake.wake_ns}] != std::pair(wake.waker_thread, wake.time_ns);
    EXPECT_EQ(wrong, 0u);
    EXPECT_GE(truth_.size(), kHandOffs);
  }

  std::mt19937 random_;
  TraceBuilder builder_;
  std::set<uint32_t> idle_;
  std::set<uint32_t> waiting_;
  std::map<uint32_t, int64_t> wait_begin_ns_;
  std::map<std::pair<uint32_t, int64_t>, std::pair<uint32_t, int64_t>>
      truth_;  // (waiter, end) → (waker, time)
  uint32_t stack_ = 0;
};

// The next owner is any of the waiters, or a thread that comes by and takes it before them.
TEST_P(HandOffs, OfAContendedMutexAreFoundAlsoWithBarging) {
  uint32_t owner = 0;
  idle_.erase(owner);
  int64_t now_ns = 0;
  while (truth_.size() < kHandOffs) {
    const int64_t taken_ns = now_ns;
    const int64_t stamp_ns = taken_ns + Us(20, 400);
    const int64_t unlock_ns = stamp_ns + Us(0, 5);
    while (!idle_.empty() && !OneIn(3)) {
      const uint32_t waiter = Any(idle_);
      wait_begin_ns_[waiter] = taken_ns + Us(10, (unlock_ns - taken_ns) / kUs);
      Move(waiter, &idle_, &waiting_);
    }
    if (!waiting_.empty()) AddRun(owner, RunKind::kWoke, CallKind::kMutex, stamp_ns, stamp_ns);
    const uint32_t last = owner;
    const bool is_barged = waiting_.empty() || (!idle_.empty() && OneIn(3));
    now_ns = unlock_ns + Us(0, 30);
    owner = is_barged ? (idle_.empty() ? last : Any(idle_)) : Any(waiting_);
    if (is_barged) {
      idle_.erase(owner);
    } else {
      waiting_.erase(owner);
      AddWait(owner, CallKind::kMutex, now_ns + Us(1, 8), last, stamp_ns);
    }
    if (owner != last) idle_.insert(last);
  }
  ExpectTruth();
}

// A token may be taken by a thread that came by, and the waiter waits on.
TEST_P(HandOffs, OfASemaphoreAreFoundAlsoWithBarging) {
  idle_.erase(0);  // posts
  int64_t now_ns = 0;
  while (truth_.size() < kHandOffs) {
    while (!idle_.empty() && (waiting_.empty() || !OneIn(3))) {
      const uint32_t waiter = Any(idle_);
      wait_begin_ns_[waiter] = now_ns + Us(60, 100);
      Move(waiter, &idle_, &waiting_);
    }
    now_ns += Us(100, 900);
    AddRun(0, RunKind::kWoke, CallKind::kSemaphore, now_ns, now_ns);
    if (OneIn(4)) continue;
    const uint32_t waiter = Any(waiting_);
    AddWait(waiter, CallKind::kSemaphore, now_ns + Us(1, 50), 0, now_ns);
    Move(waiter, &waiting_, &idle_);
  }
  ExpectTruth();
}

// The mutex is given back in the order of the signals, but much later; signals without a waiter are lost.
TEST_P(HandOffs, OfAConditionAreFoundHoweverLongTheMutexTakes) {
  idle_.erase(0);  // signals
  int64_t now_ns = 0;
  int64_t mutex_free_ns = 0;
  std::map<uint32_t, int64_t> back_ns;
  while (truth_.size() < kHandOffs) {
    for (uint32_t thread = 1; thread < kThreads; ++thread)
      if (!idle_.contains(thread) && !waiting_.contains(thread) && back_ns[thread] < now_ns)
        idle_.insert(thread);
    while (!idle_.empty() && !OneIn(2)) {
      const uint32_t waiter = Any(idle_);
      wait_begin_ns_[waiter] = now_ns + Us(1, 40);
      Move(waiter, &idle_, &waiting_);
    }
    now_ns += Us(50, 300);
    AddRun(0, RunKind::kWoke, CallKind::kCondition, now_ns, now_ns);
    if (waiting_.empty()) continue;
    const uint32_t waiter = Any(waiting_);
    mutex_free_ns = std::max(mutex_free_ns, now_ns) + Us(1, 250);
    AddWait(waiter, CallKind::kCondition, mutex_free_ns, 0, now_ns);
    waiting_.erase(waiter);
    back_ns[waiter] = mutex_free_ns;
  }
  ExpectTruth();
}

INSTANTIATE_TEST_SUITE_P(Seeds, HandOffs, ::testing::Range(1u, 6u));

}  // namespace
}  // namespace lagwatch::trace
