// SPDX-License-Identifier: Apache-2.0
#include "base/process/loader_walk.h"

#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>

namespace lagwatch::base {
namespace {

int Count(dl_phdr_info*, size_t, void* count) {
  ++*static_cast<int*>(count);
  return 0;
}

TEST(LoaderWalk, VisitsWhatTheLoaderDoes) {
  int ours = 0, the_loaders = 0;
  WalkLoadedModules(&Count, &ours);
  dl_iterate_phdr(&Count, &the_loaders);
  EXPECT_EQ(ours, the_loaders);
}

TEST(LoaderWalk, ForwardsAnExceptionAfterTheWalk) {
  const auto throws = [](dl_phdr_info*, size_t, void*) -> int { throw std::bad_alloc(); };
  EXPECT_THROW(WalkLoadedModules(throws, nullptr), std::bad_alloc);
  int count = 0;
  WalkLoadedModules(&Count, &count);  // no lock is left taken
  EXPECT_GT(count, 0);
}

TEST(LoaderWalk, LeavesNoLockInAChild) {
  std::atomic<bool> is_over{false};
  std::thread walker([&] {
    while (!is_over) {
      WalkLoadedModules(
          [](dl_phdr_info*, size_t, void*) {
            usleep(1000);
            return 0;
          },
          nullptr);
    }
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // ends a process that waits for ever
      int count = 0;
      dl_iterate_phdr(&Count, &count);
      _exit(count > 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << i;
  }
  is_over = true;
  walker.join();
}

std::mutex g_lock_of_the_program;
std::atomic<bool> g_is_fork_waiting{false};

TEST(LoaderWalk, AForkThatWaitsForWhoWalksDoesNotHinderTheWalk) {
  pthread_atfork(
      [] {
        g_is_fork_waiting = true;
        g_lock_of_the_program.lock();
      },
      [] { g_lock_of_the_program.unlock(); }, nullptr);
  int count = 0;
  WalkLoadedModules(&Count, &count);
  g_lock_of_the_program.lock();
  const auto start = std::chrono::steady_clock::now();
  std::thread forker([] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
  });
  while (!g_is_fork_waiting) std::this_thread::yield();
  WalkLoadedModules(&Count, &count);
  g_lock_of_the_program.unlock();
  forker.join();
  EXPECT_GT(count, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace lagwatch::base
