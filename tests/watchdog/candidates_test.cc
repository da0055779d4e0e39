// SPDX-License-Identifier: Apache-2.0
// Candidates for waits that record no owner, among real threads of the test's own.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/watchdog/candidate_workers.h"
#include "tests/watchdog/wait_chain_testing.h"
#include "watchdog/waits/candidates/evidence.h"

namespace lagwatch::watchdog {
namespace {

struct AsTheTest;
CandidateWorkers PlainWorkers() { return WorkersOf<AsTheTest>::All(); }

// A thread with a wait of its own; joined at the end.
class Worker {
 public:
  explicit Worker(std::function<void()> run)
      : thread_([this, run = std::move(run)] {
          tid_ = gettid();
          run();
        }) {
    EXPECT_TRUE(testing::WaitUntil([&] { return tid_ != 0; }));
  }
  ~Worker() { thread_.join(); }
  int tid() const { return tid_; }
  void AwaitSleep() const {
    EXPECT_TRUE(testing::WaitUntil([&] {
      BlockedThread blocked;
      return ReadThreadActivity(base::OwnThread(tid_), &blocked) == stack::ThreadActivity::kBlocked &&
             !blocked.HasTimeLimit();
    }));
  }

 private:
  std::atomic<int> tid_{0};
  std::thread thread_;
};

class CandidatesTest : public WaitChainTest {
 protected:
  void ExpectFirst(const Worker& waiting, int right_tid, const std::string& reason) {
    waiting.AwaitSleep();
    // A thread that wakes up, or gets no processor, may have no stack at a look.
    EXPECT_TRUE(testing::WaitUntil([&] {
      Follow(waiting.tid());
      return chain_.candidates().count != 0 && chain_.candidates().best[0].tid == right_tid;
    }));
    ASSERT_NE(chain_.candidates().count, 0u);
    const Candidate& first = chain_.candidates().best[0];
    EXPECT_EQ(first.tid, right_tid);
    if (!reason.empty()) {
      EXPECT_EQ(std::string(first.reason), reason);
    }
  }

  std::atomic<bool> is_over_{false};
};

// Others have used the object before, and left its address on their stacks.
TEST_F(CandidatesTest, WhoWorksWithTheConditionIsOne) {
  for (const CandidateWorkers& workers : {PlainWorkers(), OptimizedWorkers()}) {
    is_over_ = false;
    auto channel = std::make_unique<Channel>();
    auto other_channel = std::make_unique<Channel>();
    Worker bystander([&] {
      workers.touch(channel.get());
      workers.produce(other_channel.get(), &is_over_);
    });
    Worker idle([&] {
      workers.touch(channel.get());
      workers.sleep(&is_over_);
    });
    Worker producer([&] { workers.produce(channel.get(), &is_over_); });
    Worker waiting([&] { workers.consume(channel.get()); });
    ExpectFirst(waiting, producer.tid(), "works with memory at what is waited for, or shortly before it");
    is_over_ = true;
  }
}

sem_t global_semaphore;
// Not by a test, whose code would refer to it, too.
[[maybe_unused]] const int is_initialized = sem_init(&global_semaphore, 0, 0);

[[gnu::noinline]] void PostGlobal(const std::atomic<bool>* is_over) {
  while (!*is_over) usleep(1000);
  sem_post(&global_semaphore);
}

TEST_F(CandidatesTest, WhoseCodeRefersToASemaphoreIsOne) {
  Worker bystander([&] { PlainWorkers().sleep(&is_over_); });
  Worker poster([&] { PostGlobal(&is_over_); });
  Worker waiting([] { sem_wait(&global_semaphore); });
  ExpectFirst(waiting, poster.tid(), "runs code that refers to what is waited for");
  is_over_ = true;
}

[[gnu::noinline]] void PostOnce() { sem_post(&global_semaphore); }

[[gnu::noinline]] void PostByCall(const std::atomic<bool>* is_over) {
  while (!*is_over) usleep(1000);
  PostOnce();
}

TEST_F(CandidatesTest, WhoseCodeCallsWhatRefersToASemaphoreIsOne) {
  Worker bystander([&] { PlainWorkers().sleep(&is_over_); });
  Worker poster([&] { PostByCall(&is_over_); });
  Worker waiting([] { sem_wait(&global_semaphore); });
  ExpectFirst(waiting, poster.tid(), "runs code that calls what refers to what is waited for");
  is_over_ = true;
}

// From the closure to the promise, and from there to the state that the future waits at. The thread that made
// it has it, too: here the waiting one.
TEST_F(CandidatesTest, WhoHasThePromiseOfAFutureIsOne) {
  std::atomic<int> late_tid{0};
  Worker bystander([&] { PlainWorkers().sleep(&is_over_); });
  Worker waiting([&] {
    auto promise = std::make_shared<std::promise<void>>();
    std::future<void> future = promise->get_future();
    Worker late([promise, this] {
      PlainWorkers().sleep(&is_over_);
      promise->set_value();
    });
    late_tid = late.tid();
    future.wait();
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return late_tid != 0; }));
  // The closure may lie shortly before the state, too: that is the heap's choice.
  ExpectFirst(waiting, late_tid, "");
  is_over_ = true;
}

int global_pipe[2];

[[gnu::noinline]] void WriteGlobal(const std::atomic<bool>* is_over) {
  while (!*is_over) usleep(1000);
  EXPECT_EQ(write(global_pipe[1], "x", 1), 1);
}

TEST_F(CandidatesTest, WhoseCodeHasTheOtherEndOfAPipeIsOne) {
  ASSERT_EQ(pipe2(global_pipe, O_CLOEXEC), 0);
  {
    Worker bystander([&] { PlainWorkers().sleep(&is_over_); });
    Worker writer([&] { WriteGlobal(&is_over_); });
    Worker waiting([] {
      char byte;
      EXPECT_EQ(read(global_pipe[0], &byte, 1), 1);
    });
    ExpectFirst(waiting, writer.tid(), "runs code that refers to what is waited for");
    is_over_ = true;
  }
  for (const int end : global_pipe) close(end);
}

TEST_F(CandidatesTest, WhoHasTheDescriptorOfAnEventIsOne) {
  for (const CandidateWorkers& workers : {PlainWorkers(), OptimizedWorkers()}) {
    is_over_ = false;
    const int event = eventfd(0, EFD_CLOEXEC);
    {
      Worker bystander([&] { workers.sleep(&is_over_); });
      Worker writer([&] { workers.write_event(event, &is_over_); });
      Worker waiting([&] {
        uint64_t value;
        EXPECT_EQ(read(event, &value, sizeof value), 8);
      });
      ExpectFirst(waiting, writer.tid(), "has the number of the descriptor in a register or an argument");
      is_over_ = true;
    }
    close(event);
  }
}

TEST_F(CandidatesTest, WhoHasNotComeToTheBarrierIsOne) {
  static pthread_barrier_t barrier;
  ASSERT_EQ(pthread_barrier_init(&barrier, nullptr, 3), 0);
  const std::function<void(bool)> work = [&](bool is_late) {
    while (is_late && !is_over_) usleep(1000);
    pthread_barrier_wait(&barrier);
  };
  Worker bystander([&] { PlainWorkers().sleep(&is_over_); });
  Worker late([&] { work(true); });
  Worker other([&] { work(false); });
  other.AwaitSleep();
  Worker waiting([&] { work(false); });
  ExpectFirst(waiting, late.tid(), "has not come to the barrier, where 2 of 3 wait");
  is_over_ = true;
}

// Each of the pool's threads has a task that waits for a task that only the pool runs.
TEST_F(CandidatesTest, APoolWhoseThreadsAllWaitIsExhausted) {
  std::vector<std::promise<void>> inner(2);
  std::promise<void> outer;
  const std::function<void(size_t)> work = [&](size_t i) { inner[i].get_future().wait(); };
  Worker first([&] { work(0); });
  Worker second([&] { work(1); });
  Worker waiting([&] { outer.get_future().wait(); });
  for (const Worker* worker : {&first, &second, &waiting}) worker->AwaitSleep();
  EXPECT_TRUE(testing::WaitUntil([&] {
    Follow(waiting.tid());
    return chain_.candidates().exhausted_pool_threads >= 2;
  }));
  for (std::promise<void>& one : inner) one.set_value();
  outer.set_value();
}

ConsideredThread Thread(int tid, uint64_t start, bool is_asleep) {
  return {.tid = tid, .start = start, .is_asleep = is_asleep};
}

TEST(Candidates, APoolThatHasAThreadLeftIsNotExhausted) {
  constexpr uint64_t kStart = 7;
  ConsideredThreads threads(Thread(1, 1, true));
  ConsideredThread needs_lock = Thread(2, kStart, true);
  needs_lock.lock_owner = 1;
  threads.Add(needs_lock);
  ConsideredThread needs_other = Thread(3, kStart, true);
  needs_other.lock_owner = 2;
  threads.Add(needs_other);
  EXPECT_EQ(ConsideredThreads(threads).Judge().exhausted_pool_threads, 2u);
  ConsideredThreads incomplete(threads);
  incomplete.MissSome();
  EXPECT_EQ(incomplete.Judge().exhausted_pool_threads, 0u);
  ConsideredThreads with_unknown(threads);
  with_unknown.Add(Thread(4, 0, false));
  EXPECT_EQ(with_unknown.Judge().exhausted_pool_threads, 0u);
  threads.Add(Thread(4, kStart, true));  // idle
  EXPECT_EQ(threads.Judge().exhausted_pool_threads, 0u);
}

TEST(Candidates, WhatHoldsForMostThreadsSaysNothing) {
  ConsideredThreads threads(Thread(1, 0, true));
  for (int tid = 2; tid <= 6; ++tid) {
    ConsideredThread thread = Thread(tid, 0, true);
    thread.Add(Evidence::kNearObject);
    threads.Add(thread);
  }
  EXPECT_EQ(threads.Judge().count, 0u);
}

TEST(Candidates, OfSeveralReasonsTheWeightiestIsGiven) {
  ConsideredThreads threads(Thread(1, 0, true));
  ConsideredThread thread = Thread(2, 0, true);
  thread.Add(Evidence::kCodeCalls);
  thread.Add(Evidence::kGuard);
  threads.Add(thread);
  EXPECT_STREQ(threads.Judge().best[0].reason, "has the address of the lock on its stack");
}

TEST(Candidates, TheBestTwoAreNamed) {
  ConsideredThreads threads(Thread(1, 0, true));
  ConsideredThread near = Thread(2, 0, true);
  near.Add(Evidence::kNearObject);
  ConsideredThread using_it = Thread(3, 0, false);
  using_it.Add(Evidence::kUsesObject);
  ConsideredThread blocked = Thread(4, 0, true);
  blocked.Add(Evidence::kNeedsLock);
  for (const ConsideredThread& thread : {near, blocked, using_it}) threads.Add(thread);
  const Candidates found = threads.Judge();
  ASSERT_EQ(found.count, 2u);
  EXPECT_EQ(found.best[0].tid, 3);
  EXPECT_EQ(found.best[1].tid, 4);
}

}  // namespace
}  // namespace lagwatch::watchdog
