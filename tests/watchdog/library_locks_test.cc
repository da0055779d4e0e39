// SPDX-License-Identifier: Apache-2.0
// Locks of the C library: of streams, the loader and malloc.
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>

#include "tests/watchdog/library_locks_testing.h"

namespace lagwatch::watchdog {
namespace {

TEST_F(LibraryLocksTest, AStreamHasItsOwner) {
  FILE* stream = std::fopen("/dev/null", "w");
  ASSERT_NE(stream, nullptr);
  flockfile(stream);
  std::atomic<bool> is_over{false};
  LastingThread writer([&] {
    std::fputs("x", stream);
    is_over = true;
  });
  const void* lock = writer.AwaitFutex();
  EXPECT_EQ(Follow(writer.tid()), 0u);
  ExpectWait(0, writer.tid(), lock, gettid(), LockKind::kStream);
  funlockfile(stream);
  EXPECT_TRUE(testing::WaitUntil([&] { return is_over.load(); }));
  std::fclose(stream);
}

// The loader's lock is a mutex of a kind that may be taken again.
TEST_F(LibraryLocksTest, TheLoadersLockHasItsOwner) {
  static Gate gate;
  static std::atomic<int> walker_tid{0};
  std::thread walker([] {
    dl_iterate_phdr(
        [](dl_phdr_info*, size_t, void*) {
          walker_tid = gettid();
          gate.Sleep();
          return 1;
        },
        nullptr);
  });
  ASSERT_TRUE(testing::WaitUntil([] { return walker_tid != 0; }));
  LastingThread loader([] {
    if (void* library = dlopen("libdl.so.2", RTLD_NOW)) dlclose(library);
  });
  const void* lock = loader.AwaitFutex();
  // Here, since no thread can be started meanwhile.
  capturer_->RefreshModules();
  EXPECT_EQ(chain_.Follow(loader.tid(), capturer_.get()), 0u);
  ExpectWait(0, loader.tid(), lock, walker_tid);
  gate.Open();
  walker.join();
}

// The usual deadlock of a condition: the thread that is to signal needs a lock of the waiting one's.
TEST_F(LibraryLocksTest, WhoNeedsALockOfTheWaitingThreadIsACandidate) {
  static std::mutex outer, inner;
  static std::condition_variable condition;
  static bool is_set = false;
  LastingThread waiter([] {
    std::lock_guard held(outer);
    std::unique_lock lock(inner);
    condition.wait(lock, [] { return is_set; });
  });
  waiter.AwaitFutex();
  LastingThread other([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
  LastingThread signalling([] { std::lock_guard lock(outer); });
  signalling.AwaitFutex();
  EXPECT_EQ(Follow(waiter.tid()), 0u);
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kNone);
  ASSERT_NE(chain_.candidates().count, 0u);
  EXPECT_EQ(chain_.candidates().best[0].tid, signalling.tid());
  EXPECT_EQ(chain_.candidates().best[0].count, 1u);
  EXPECT_EQ(Follow(signalling.tid()), 0u);  // its chain ends at the same condition
  ASSERT_NE(chain_.candidates().count, 0u);
  EXPECT_EQ(chain_.candidates().best[0].tid, signalling.tid());
  {
    std::lock_guard lock(inner);
    is_set = true;
  }
  condition.notify_one();
}

TEST_F(LibraryLocksTest, WhoWorksAtAFutureIsACandidate) {
  static Gate gate;
  std::packaged_task<void()> task([] { gate.Sleep(); }), other_task([] { gate.Sleep(); });
  std::future<void> result = task.get_future();
  std::atomic<int> worker_tid{0};
  std::thread other([&] { other_task(); });
  std::thread worker([&] {
    worker_tid = gettid();
    task();
  });
  std::atomic<bool> is_over{false};
  LastingThread waiter([&] {
    result.wait();
    is_over = true;
  });
  waiter.AwaitFutex();
  EXPECT_TRUE(testing::WaitUntil([&] {
    Follow(waiter.tid());
    return chain_.candidates().count != 0;
  }));
  EXPECT_EQ(chain_.candidates().best[0].tid,
            worker_tid);  // though this thread has the future and the task, too
  gate.Open();
  worker.join();
  other.join();
  EXPECT_TRUE(testing::WaitUntil([&] { return is_over.load(); }));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these have a malloc of their own
// In a child, since fork() would wait for the lock that is never given back.
void InterruptMallocUntilItHangs(const std::function<void(int)>& look) {
  struct sigaction action {};
  action.sa_handler = [](int) { std::free(std::malloc(5000)); };
  sigaction(SIGUSR1, &action, nullptr);
  static pthread_t allocating_thread;
  static std::atomic<bool> is_known{false};
  LastingThread allocating([] {
    allocating_thread = pthread_self();
    is_known = true;
    for (size_t size = 2000;; size = size % 20'000 + 2000) {
      void* volatile memory = std::malloc(size);
      std::free(memory);
    }
  });
  ASSERT_TRUE(testing::WaitUntil([&] {
    if (!is_known) return false;
    pthread_kill(allocating_thread, SIGUSR1);
    usleep(1000);
    BlockedThread blocked;
    return ReadThreadActivity(base::OwnThread(allocating.tid()), &blocked) ==
               stack::ThreadActivity::kBlocked &&
           stack::LockOwners::IsInLockCall(blocked);
  }));
  look(allocating.tid());
}

TEST(LibraryLocks, AHandlerThatAllocatesWithinMallocWaitsForItself) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    auto capturer = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
    WaitWalker chain;
    std::thread([&] { chain.MeasureLayouts(); }).join();
    bool is_right = false;
    InterruptMallocUntilItHangs([&](int tid) {
      capturer->RefreshModules();
      chain.Follow(tid, capturer.get());
      const auto waits = chain.waits();
      is_right = waits.size() == 1 && waits[0].lock.kind == LockKind::kHeap &&
                 waits[0].lock.owner_tid == tid && chain.outcome() == WaitOutcome::kDeadlock;
    });
    _exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace lagwatch::watchdog
