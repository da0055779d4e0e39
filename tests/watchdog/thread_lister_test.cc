// SPDX-License-Identifier: Apache-2.0
// Real threads, many of them. The calls to the capturer prove which stacks are kept from look to look.
#include "watchdog/samples/thread_lister.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/process/own_threads.h"
#include "base/process/program_caller.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::watchdog {
namespace {

using testing::StalledThread;
using testing::StopFlag;

// Threads that sleep in sem_wait until they are posted or released.
class Sleepers {
 public:
  explicit Sleepers(size_t count) : sleepers_(count) {
    for (Sleeper& sleeper : sleepers_) {
      sem_init(&sleeper.wake, 0, 0);
      sleeper.thread = std::thread([this, &sleeper] {
        sleeper.tid = gettid();
        while (!is_over_.load()) {
          sem_wait(&sleeper.wake);
          ++sleeper.wakes;
        }
      });
    }
  }
  ~Sleepers() {
    is_over_ = true;
    for (Sleeper& sleeper : sleepers_) sem_post(&sleeper.wake);
    for (Sleeper& sleeper : sleepers_) sleeper.thread.join();
  }
  size_t size() const { return sleepers_.size(); }
  int tid(size_t index) const { return sleepers_[index].tid; }
  // Wakes the thread and waits until it sleeps again.
  bool Wake(size_t index) {
    Sleeper& sleeper = sleepers_[index];
    int before = sleeper.wakes;
    sem_post(&sleeper.wake);
    return testing::WaitUntil([&] { return sleeper.wakes > before && IsAsleep(sleeper.tid); });
  }
  bool WaitUntilAsleep() {
    return testing::WaitUntil([&] {
      return std::all_of(sleepers_.begin(), sleepers_.end(),
                         [](const Sleeper& sleeper) { return sleeper.tid != 0 && IsAsleep(sleeper.tid); });
    });
  }

 private:
  struct Sleeper {
    std::thread thread;
    sem_t wake;
    std::atomic<int> tid{0};
    std::atomic<int> wakes{0};
  };
  static bool IsAsleep(int tid) {
    stack::BlockedThread blocked;
    return stack::ReadThreadActivity(base::OwnThread(tid), &blocked) == stack::ThreadActivity::kBlocked &&
           blocked.syscall_number == SYS_futex;
  }

  std::atomic<bool> is_over_{false};
  std::vector<Sleeper> sleepers_;
};

class ThreadListerTest : public ::testing::Test {
 protected:
  ThreadListerTest() {
    capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
    own_stack_.Clear();
  }
  // The watched thread is one that is long gone, unless the test says otherwise.
  void Capture(int32_t watched_tid = kNobody) {
    capturer_->RefreshModules();
    captures_before_ = capturer_->counters().captures.value();
    lister_.Capture(watched_tid, own_stack_, capturer_.get());
  }
  uint64_t captures() const { return capturer_->counters().captures.value() - captures_before_; }
  // Again and again until the background has compiled the unwind tables: then every stack is whole.
  bool CaptureUntilWhole(const Sleepers& sleepers) {
    return testing::WaitUntil([&] {
      Capture();
      return WholeStacks(sleepers) == sleepers.size();
    });
  }
  size_t WholeStacks(const Sleepers& sleepers) const {
    size_t count = 0;
    for (size_t i = 0; i < sleepers.size(); ++i) {
      const ThreadSnapshot* thread = Find(sleepers.tid(i));
      count += thread != nullptr && thread->stack.completeness == stack::Completeness::kComplete;
    }
    return count;
  }
  // Listed threads that are neither sleepers nor the watched one: a sanitizer and the tables'
  // compiler have some.
  size_t Others(const Sleepers& sleepers) const { return lister_.threads().size() - 1 - sleepers.size(); }
  const ThreadSnapshot* Find(int32_t tid) const {
    for (const ThreadSnapshot* thread : lister_.threads()) {
      if (thread->tid == tid) return thread;
    }
    return nullptr;
  }

  static constexpr int32_t kNobody = 1 << 30;
  std::unique_ptr<stack::StackCapturer> capturer_;
  stack::Stack own_stack_;
  ThreadLister lister_{512};
  uint64_t captures_before_ = 0;
};

// It runs, and blocks all signals.
TEST_F(ThreadListerTest, AThreadThatDidNotAnswerHasTheStackThatTheWaitsHave) {
  const testing::StalledThread thread([](const testing::StopFlag& stop) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    testing::Spin(stop);
  });
  ASSERT_TRUE(testing::WaitUntil([&] {
    Capture();
    return Find(thread.tid()) != nullptr && Find(thread.tid())->stack.frame_count == 0;
  }));
  own_stack_.frame_count = 1;
  own_stack_.frames[0] = {};
  own_stack_.frames[0].function_offset = 4711;
  Wait wait;
  wait.lock.owner_tid = thread.tid();
  wait.owner_frames = &own_stack_;
  wait.owner_pid = 1;
  lister_.AddStacks({&wait, 1});
  EXPECT_EQ(Find(thread.tid())->stack.frame_count, 0u) << "another process's";
  wait.owner_pid = 0;
  lister_.AddStacks({&wait, 1});
  ASSERT_EQ(Find(thread.tid())->stack.frame_count, 1u);
  EXPECT_EQ(Find(thread.tid())->stack.frames[0].function_offset, 4711u);
}

TEST_F(ThreadListerTest, CapturesSleepersOnceAndThenKeepsTheirStacks) {
  Sleepers sleepers(20);
  ASSERT_TRUE(sleepers.WaitUntilAsleep());
  ASSERT_TRUE(CaptureUntilWhole(sleepers));
  ASSERT_TRUE(testing::WaitUntil([&] {  // what started last has a kept stack from the next look on
    Capture();
    return lister_.reused_count() >= sleepers.size();
  }));
  EXPECT_LE(captures(), Others(sleepers));
  EXPECT_EQ(WholeStacks(sleepers), sleepers.size());
  EXPECT_EQ(Find(sleepers.tid(7))->syscall_number, SYS_futex);
}

TEST_F(ThreadListerTest, LooksAgainAtASleeperThatWasAwakeInBetween) {
  Sleepers sleepers(20);
  ASSERT_TRUE(sleepers.WaitUntilAsleep());
  ASSERT_TRUE(CaptureUntilWhole(sleepers));
  for (size_t i = 0; i < sleepers.size(); i += 2) ASSERT_TRUE(sleepers.Wake(i));
  Capture();
  EXPECT_LE(lister_.reused_count(), sleepers.size() / 2 + Others(sleepers));
  EXPECT_GE(captures(), sleepers.size() / 2);
  EXPECT_EQ(WholeStacks(sleepers), sleepers.size());
}

// As many as there are records come, go and are replaced: no thread is shown with another one's stack.
TEST_F(ThreadListerTest, KeepsNothingOfThreadsThatAreGone) {
  for (int round = 0; round < 3; ++round) {
    Sleepers sleepers(30);
    ASSERT_TRUE(sleepers.WaitUntilAsleep());
    ASSERT_TRUE(CaptureUntilWhole(sleepers));
    EXPECT_LE(Others(sleepers), 8u);
  }
}

TEST_F(ThreadListerTest, ListsAsManyAsItHasRoomForAndCountsTheRest) {
  Sleepers sleepers(12);
  ASSERT_TRUE(sleepers.WaitUntilAsleep());
  ThreadLister small(5);
  capturer_->RefreshModules();
  for (int look = 0; look < 3; ++look) {
    small.Capture(sleepers.tid(11), own_stack_, capturer_.get());
    ASSERT_EQ(small.threads().size(), 5u);
    EXPECT_EQ(small.threads()[0]->tid, sleepers.tid(11));
    EXPECT_GE(small.dropped_count(), 12u - 5);
    std::vector<int32_t> tids;
    for (const ThreadSnapshot* thread : small.threads()) tids.push_back(thread->tid);
    std::sort(tids.begin(), tids.end());
    EXPECT_EQ(std::unique(tids.begin(), tids.end()), tids.end());
  }
}

TEST_F(ThreadListerTest, TheWatchedThreadComesFirstWithTheStackThatIsKnownOfIt) {
  Sleepers sleepers(3);
  ASSERT_TRUE(sleepers.WaitUntilAsleep());
  own_stack_.frame_count = 1;
  own_stack_.completeness = stack::Completeness::kComplete;
  own_stack_.frames[0] = {stack::kNoModule, 0x1234, 0};
  for (int look = 0; look < 2; ++look) {
    Capture(sleepers.tid(1));
    ASSERT_FALSE(lister_.threads().empty());
    const ThreadSnapshot& first = *lister_.threads()[0];
    EXPECT_EQ(first.tid, sleepers.tid(1));
    EXPECT_EQ(first.stack.frames[0].offset, 0x1234u);
  }
  Capture();  // watched no longer: the stack is its own again
  EXPECT_NE(Find(sleepers.tid(1))->stack.frames[0].offset, 0x1234u);
}

TEST_F(ThreadListerTest, ThreadsOfLagwatchAreCountedAndNotListedUnlessTheyRunThePrograms) {
  Capture();
  const uint32_t before = lister_.own_count();  // this thread, as the watchdog
  EXPECT_GE(before, 1u);
  std::atomic<int> tid{0};
  std::atomic<bool> is_lent{false};
  auto caller = base::ProgramCaller::Start("lagwatch-call").value();
  caller->Call([&] { tid = gettid(); });
  EXPECT_EQ(base::OwnerOfThread(tid), base::ThreadOwner::kLagwatch);
  Capture();
  EXPECT_EQ(Find(tid), nullptr);
  EXPECT_EQ(lister_.own_count(), before + 1);
  sem_t release;
  sem_init(&release, 0, 0);
  std::thread other([&] {
    caller->Call([&] {
      is_lent = true;
      sem_wait(&release);
    });
  });
  EXPECT_TRUE(testing::WaitUntil([&] { return is_lent.load(); }));
  Capture();
  EXPECT_NE(Find(tid), nullptr);
  EXPECT_EQ(lister_.own_count(), before);
  sem_post(&release);
  other.join();
  EXPECT_TRUE(caller->TryStop(base::kNsPerSecond));
  EXPECT_EQ(base::OwnerOfThread(tid), base::ThreadOwner::kProgram);
  // Of another copy of lagwatch in the same process.
  Sleepers sleepers(1);
  ASSERT_TRUE(sleepers.WaitUntilAsleep());
  std::ofstream("/proc/self/task/" + std::to_string(sleepers.tid(0)) + "/comm") << "lagwatch-sync";
  Capture();
  EXPECT_EQ(Find(sleepers.tid(0)), nullptr);
  EXPECT_EQ(lister_.own_count(), before + 1);
}

TEST_F(ThreadListerTest, HundredsOfSleepersFitIntoOneLook) {
  Sleepers sleepers(300);
  ASSERT_TRUE(sleepers.WaitUntilAsleep());
  EXPECT_TRUE(CaptureUntilWhole(sleepers));
  EXPECT_EQ(capturer_->counters().sleepers_signalled.value(), 0u);
}

// Threads that do not answer take their time; the sleepers' stacks must not be what that costs.
TEST_F(ThreadListerTest, ThreadsThatDoNotAnswerComeLastAndSayWhereTheyAre) {
  int signal_number = capturer_->signal_number();
  auto deaf = [signal_number](const StopFlag& stop) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, signal_number);
    pthread_sigmask(SIG_BLOCK, &mask, nullptr);
    testing::Spin(stop);
  };
  StalledThread first(deaf);
  Sleepers sleepers(40);
  ASSERT_TRUE(sleepers.WaitUntilAsleep());
  ASSERT_TRUE(CaptureUntilWhole(sleepers));
  const ThreadSnapshot* spinning = Find(first.tid());
  ASSERT_NE(spinning, nullptr);
  EXPECT_EQ(spinning->stack.completeness, stack::Completeness::kNone);
  EXPECT_EQ(spinning->syscall_number, -1);
  EXPECT_EQ(spinning->state, 'R');
  EXPECT_STREQ(spinning->wait_channel, "");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int64_t ResidentBytes() {
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

TEST(ThreadListerMemory, IsNotTouchedBeforeItIsNeeded) {
  int64_t before = ResidentBytes();
  std::vector<std::unique_ptr<ThreadLister>> listers;
  for (int i = 0; i < 10; ++i) listers.push_back(std::make_unique<ThreadLister>(512));
  EXPECT_LT(ResidentBytes() - before, 2'000'000);  // of 32 MB
}
#endif

}  // namespace
}  // namespace lagwatch::watchdog
