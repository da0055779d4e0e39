// SPDX-License-Identifier: Apache-2.0
// Chains and cycles of real threads and locks.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/wait_chain_testing.h"

namespace lagwatch::watchdog {
namespace {

// A thread that takes one lock and then waits for another. With `is_for_ever` it is left to its fate, which
// ends with the process.
class LockingThread {
 public:
  LockingThread(pthread_mutex_t* first, pthread_mutex_t* second, std::atomic<int>* ready = nullptr,
                int start_at = 0)
      : state_(std::make_shared<State>()) {
    thread_ = std::thread([state = state_, first, second, ready, start_at] {
      state->tid = gettid();
      if (first != nullptr) pthread_mutex_lock(first);
      if (ready != nullptr) ++*ready;
      while (ready != nullptr && ready->load() < start_at) std::this_thread::yield();
      pthread_mutex_lock(second);
      pthread_mutex_unlock(second);
      if (first != nullptr) pthread_mutex_unlock(first);
    });
  }
  ~LockingThread() {
    if (thread_.joinable()) thread_.join();
  }

  void LeaveForEver() { thread_.detach(); }
  int tid() const { return state_->tid; }
  bool AwaitWaitFor(const void* lock) const {
    return testing::WaitUntil([&] { return tid() != 0 && WaitsAt(tid(), lock); });
  }

 private:
  struct State {
    std::atomic<int> tid{0};
  };
  std::shared_ptr<State> state_;
  std::thread thread_;
};

TEST_F(WaitChainTest, GoesFromOwnerToOwner) {
  pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&inner);
  {
    LockingThread middle(&outer, &inner);
    EXPECT_TRUE(middle.AwaitWaitFor(&inner));
    LockingThread first(nullptr, &outer);
    EXPECT_TRUE(first.AwaitWaitFor(&outer));
    EXPECT_EQ(Follow(first.tid()), 0u);
    EXPECT_EQ(chain_.outcome(), WaitOutcome::kLock);
    EXPECT_EQ(chain_.waits().size(), 2u);
    if (chain_.waits().size() == 2) {
      ExpectWait(0, first.tid(), &outer, middle.tid());
      ExpectWait(1, middle.tid(), &inner, gettid());
    }
    pthread_mutex_unlock(&inner);
  }
}

TEST_F(WaitChainTest, IsOnlySoLong) {
  constexpr size_t kThreads = WaitWalker::kMaxWaits + 4;
  pthread_mutex_t mutexes[kThreads];
  for (pthread_mutex_t& mutex : mutexes) pthread_mutex_init(&mutex, nullptr);
  pthread_mutex_lock(&mutexes[0]);
  {
    std::vector<std::unique_ptr<LockingThread>> threads;
    for (size_t i = 1; i < kThreads; ++i) {
      threads.push_back(std::make_unique<LockingThread>(&mutexes[i], &mutexes[i - 1]));
      EXPECT_TRUE(threads.back()->AwaitWaitFor(&mutexes[i - 1]));
    }
    EXPECT_EQ(Follow(threads.back()->tid()), 0u);
    EXPECT_EQ(chain_.waits().size(), WaitWalker::kMaxWaits);
    EXPECT_EQ(chain_.outcome(), WaitOutcome::kLock);
    EXPECT_GT(chain_.waits().back().owner_frames->frame_count, 0u);
    pthread_mutex_unlock(&mutexes[0]);
  }
}

TEST_F(WaitChainTest, ADeadlockIsACycleSeenAlsoFromOutside) {
  static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
  static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
  static std::atomic<int> ready{0};
  LockingThread one(&a, &b, &ready, 2);
  LockingThread two(&b, &a, &ready, 2);
  one.LeaveForEver();
  two.LeaveForEver();
  ASSERT_TRUE(one.AwaitWaitFor(&b) && two.AwaitWaitFor(&a));
  LockingThread outside(nullptr, &a);
  outside.LeaveForEver();
  ASSERT_TRUE(outside.AwaitWaitFor(&a));
  EXPECT_EQ(Follow(one.tid()), 0u);
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kDeadlock);
  ASSERT_EQ(chain_.waits().size(), 2u);
  ExpectWait(0, one.tid(), &b, two.tid());
  ExpectWait(1, two.tid(), &a, one.tid());
  EXPECT_EQ(chain_.waits()[1].owner_frames, chain_.waits()[0].frames);

  EXPECT_EQ(Follow(outside.tid()), 0u);
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kDeadlock);
  ASSERT_EQ(chain_.waits().size(), 3u);
  ExpectWait(0, outside.tid(), &a, one.tid());
  ExpectWait(2, two.tid(), &a, one.tid());
}

TEST_F(WaitChainTest, AThreadMayWaitForItself) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  LockingThread thread(&mutex, &mutex);
  thread.LeaveForEver();
  ASSERT_TRUE(thread.AwaitWaitFor(&mutex));
  EXPECT_EQ(Follow(thread.tid()), 0u);
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kDeadlock);
  ASSERT_EQ(chain_.waits().size(), 1u);
  ExpectWait(0, thread.tid(), &mutex, thread.tid());
}

// It ends by itself.
TEST_F(WaitChainTest, ACycleWithATimeoutIsNoDeadlock) {
  static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
  static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
  static std::atomic<int> ready{0};
  static std::atomic<int> timed_tid{0};
  LockingThread for_ever(&a, &b, &ready, 2);
  for_ever.LeaveForEver();
  std::thread([] {
    constexpr timespec kFarFuture{.tv_sec = 4'000'000'000, .tv_nsec = 0};
    timed_tid = gettid();
    pthread_mutex_lock(&b);
    ++ready;
    while (ready.load() < 2) std::this_thread::yield();
    if (pthread_mutex_timedlock(&a, &kFarFuture) == 0) pthread_mutex_unlock(&a);
  }).detach();
  ASSERT_TRUE(for_ever.AwaitWaitFor(&b));
  ASSERT_TRUE(testing::WaitUntil([&] { return WaitsAt(timed_tid, &a); }));
  EXPECT_EQ(Follow(for_ever.tid()), 0u);
  EXPECT_EQ(chain_.waits().size(), 2u);
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kLock);
}

TEST_F(WaitChainTest, AConditionIsNoLock) {
  std::mutex mutex;
  std::condition_variable condition;
  bool is_set = false;
  std::atomic<int> tid{0};
  std::thread thread([&] {
    std::unique_lock lock(mutex);
    tid = gettid();
    condition.wait(lock, [&] { return is_set; });
  });
  EXPECT_TRUE(testing::WaitUntil([&] {
    Follow(tid);
    return chain_.waits().size() == 1 && chain_.waits()[0].lock.kind == LockKind::kCondition;
  }));
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kNone);
  {
    std::lock_guard lock(mutex);
    is_set = true;
  }
  condition.notify_one();
  thread.join();
}

TEST_F(WaitChainTest, AThreadThatRunsWaitsForNothingAndIsNotDisturbed) {
  testing::StalledThread thread(testing::Spin);
  EXPECT_EQ(Follow(thread.tid()), 0u);
  EXPECT_TRUE(chain_.waits().empty());
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kNone);
  EXPECT_EQ(capturer_->counters().captures.value(), 0u);
}

// Locks that change hands all the time, always taken in the same order: at any moment, no thread may
// be reported to be in a deadlock, to hold a lock that other threads hold, or to wait for a lock that
// does not exist.
TEST_F(WaitChainTest, NothingIsInventedWhileLocksChangeHands) {
  constexpr int kThreads = 4;
  pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> is_over{false};
  std::atomic<int> tids[kThreads]{};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      tids[i] = gettid();
      while (!is_over.load()) {
        pthread_mutex_lock(&a);
        pthread_mutex_lock(&b);
        pthread_mutex_unlock(&a);
        sched_yield();
        pthread_mutex_unlock(&b);
      }
    });
  }
  auto is_one_of_them = [&](int tid) { return std::find(tids, tids + kThreads, tid) != tids + kThreads; };
  EXPECT_TRUE(testing::WaitUntil([&] { return !is_one_of_them(0); }));
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
    Follow(tids[i % kThreads]);
    EXPECT_NE(chain_.outcome(), WaitOutcome::kDeadlock);
    for (const Wait& wait : chain_.waits()) {
      const void* lock = reinterpret_cast<const void*>(wait.lock.address);
      EXPECT_TRUE(lock == &a || lock == &b);
      EXPECT_TRUE(wait.lock.owner_tid == 0 || is_one_of_them(wait.lock.owner_tid));
      EXPECT_NE(wait.lock.owner_tid, static_cast<int32_t>(wait.tid));
    }
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lagwatch::watchdog

#if defined(__SANITIZE_THREAD__)
// The tests make locks wait for each other on purpose.
extern "C" const char* __tsan_default_options() { return "detect_deadlocks=0"; }
#endif
