// SPDX-License-Identifier: Apache-2.0
// Threads that wait within libraries.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "tests/testing/process.h"
#include "tests/watchdog/wait_chain_testing.h"

namespace lagwatch::watchdog {

// A thread that may be left in a deadlock, which ends with the process.
class LastingThread {
 public:
  explicit LastingThread(std::function<void()> run) : tid_(std::make_shared<std::atomic<int>>(0)) {
    std::thread([tid = tid_, run = std::move(run)] {
      *tid = gettid();
      run();
    }).detach();
  }
  int tid() const { return *tid_; }
  // The address of the futex that it sleeps at in the end.
  const void* AwaitFutex() const {
    const void* address = nullptr;
    EXPECT_TRUE(testing::WaitUntil([&] {
      BlockedThread blocked;
      const bool is_asleep =
          tid() != 0 &&
          ReadThreadActivity(base::OwnThread(tid()), &blocked) == stack::ThreadActivity::kBlocked &&
          stack::LockOwners::IsInLockCall(blocked);
      if (is_asleep) address = reinterpret_cast<const void*>(blocked.arguments[0]);
      return is_asleep;
    }));
    return address;
  }

 private:
  std::shared_ptr<std::atomic<int>> tid_;
};

// Closed until the test opens it; computing threads are to be seen, too.
class Gate {
 public:
  void Open() { is_open_ = true; }
  void Sleep() const {
    while (!is_open_) usleep(1000);
  }
  void Compute() const {
    while (!is_open_) continue;
  }

 private:
  std::atomic<bool> is_open_{false};
};

class LibraryLocksTest : public WaitChainTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer has functions of its own in place of the libraries'";
#endif
    WaitChainTest::SetUp();
  }
  // Until the first wait has an owner: a thread that wakes up, or gets no processor, may have no stack at a
  // look.
  void FollowToOwner(int tid) {
    EXPECT_TRUE(testing::WaitUntil([&] {
      Follow(tid);
      return !chain_.waits().empty() && chain_.waits()[0].lock.waits_for == WaitsFor::kOwner;
    }));
  }
};

}  // namespace lagwatch::watchdog
