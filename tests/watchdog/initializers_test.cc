// SPDX-License-Identifier: Apache-2.0
// Waits for initializers that another thread runs once.
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <climits>
#include <functional>
#include <mutex>

#include "tests/watchdog/library_locks_testing.h"

namespace lagwatch::watchdog {
namespace {

using InitializersTest = LibraryLocksTest;

TEST_F(InitializersTest, AnInitializerIsRunByTheOwnerOfItsOnce) {
  static Gate gate;
  static std::once_flag flag, other_flag;
  static std::atomic<int> begun{0};
  const auto initialize = [] {
    ++begun;
    gate.Sleep();
  };
  std::thread other([&] { std::call_once(other_flag, initialize); });
  std::atomic<int> runner_tid{0};
  std::thread runner([&] {
    runner_tid = gettid();
    std::call_once(flag, initialize);
  });
  ASSERT_TRUE(testing::WaitUntil([] { return begun == 2; }));
  LastingThread waiter([&] { std::call_once(flag, [] {}); });
  const void* once = waiter.AwaitFutex();
  FollowToOwner(waiter.tid());
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kLock);
  ExpectWait(0, waiter.tid(), once, runner_tid, LockKind::kOnce);
  gate.Open();
  other.join();
  runner.join();
}

int Variable(const std::function<int()>& initialize) {
  static const int variable = initialize();
  return variable;
}

TEST_F(InitializersTest, AStaticVariablesInitializerMayCompute) {
  static Gate gate;
  static std::atomic<bool> has_begun{false};
  std::atomic<int> runner_tid{0};
  std::thread runner([&] {
    runner_tid = gettid();
    Variable([] {
      has_begun = true;
      gate.Compute();
      return 1;
    });
  });
  ASSERT_TRUE(testing::WaitUntil([] { return has_begun.load(); }));
  LastingThread waiter([] { Variable([] { return 2; }); });
  const void* guard = waiter.AwaitFutex();
  FollowToOwner(waiter.tid());
  ExpectWait(0, waiter.tid(), guard, runner_tid, LockKind::kOnce);
  gate.Open();
  runner.join();
}

int Recursive(int depth) {
  static const int variable = depth < 2 ? Recursive(depth + 1) : depth;  // the second call waits for good
  return variable;
}

TEST_F(InitializersTest, AnInitializerThatNeedsItselfIsADeadlock) {
  LastingThread thread([] { Recursive(0); });
  const void* guard = thread.AwaitFutex();
  FollowToOwner(thread.tid());
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kDeadlock);
  ExpectWait(0, thread.tid(), guard, thread.tid(), LockKind::kOnce);
}

TEST_F(InitializersTest, AnOnceAndAMutexCanBeADeadlock) {
  static std::once_flag flag;
  static std::mutex mutex;
  static std::atomic<bool> is_locked{false}, has_begun{false};
  LastingThread holder([] {
    std::lock_guard lock(mutex);
    is_locked = true;
    while (!has_begun) usleep(1000);
    std::call_once(flag, [] {});
  });
  LastingThread runner([] {
    std::call_once(flag, [] {
      while (!is_locked) usleep(1000);
      has_begun = true;
      std::lock_guard lock(mutex);
    });
  });
  ASSERT_EQ(runner.AwaitFutex(), &mutex);
  const void* once = holder.AwaitFutex();
  FollowToOwner(holder.tid());
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kDeadlock);
  ExpectWait(0, holder.tid(), once, runner.tid(), LockKind::kOnce);
  ExpectWait(1, runner.tid(), &mutex, holder.tid());
}

// As std::sync::Once of Rust 1.95: the words alone are those of any counter.
class RustOnce {
 public:
  [[gnu::noinline]] void Call(const std::function<void()>& initialize) {
    uint32_t state = kNew;
    if (state_.compare_exchange_strong(state, kRunning)) {
      initialize();
      if (state_.exchange(kDone) != kRunning)
        syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
      return;
    }
    while (state_ != kDone) {
      state = kRunning;
      state_.compare_exchange_strong(state, kRunning | kQueued);
      syscall(SYS_futex, &state_, FUTEX_WAIT_BITSET_PRIVATE, kRunning | kQueued, nullptr, nullptr, ~0u);
    }
  }

 private:
  enum State : uint32_t { kDone, kRunning, kPoisoned, kNew, kQueued };
  std::atomic<uint32_t> state_{kNew};
};

// Two threads wait, and one runs another initializer.
void ExpectRunner(const std::function<void(int which, const std::function<void()>& initialize)>& once,
                  const std::function<void(int waiter_tid, int runner_tid)>& expect) {
  auto gate = std::make_shared<Gate>();
  std::atomic<int> begun{0};
  const auto initialize = [&begun, gate] {
    ++begun;
    gate->Sleep();
  };
  std::atomic<int> runner_tid{0};
  std::thread other([&] { once(1, initialize); });
  std::thread runner([&] {
    runner_tid = gettid();
    once(0, initialize);
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return begun == 2; }));
  std::atomic<int> over{0};
  const auto wait = [&over, once] {
    once(0, [] {});
    ++over;
  };
  LastingThread waiter(wait);
  LastingThread second(wait);
  waiter.AwaitFutex();
  second.AwaitFutex();
  expect(waiter.tid(), runner_tid);
  gate->Open();
  other.join();
  runner.join();
  EXPECT_TRUE(testing::WaitUntil([&] { return over == 2; }));
}

TEST_F(InitializersTest, AnInitializerOfRustIsRunByTheOwner) {
  static RustOnce onces[2];
  ExpectRunner([](int which, const std::function<void()>& initialize) { onces[which].Call(initialize); },
               [&](int waiter_tid, int runner_tid) {
                 FollowToOwner(waiter_tid);
                 ExpectWait(0, waiter_tid, &onces[0], runner_tid, LockKind::kOnce);
               });
}

// The waiting function of a library is known by its name.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* name) : handle_(dlopen(name, RTLD_NOW)) {}
  template <typename Function>
  Function Find(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle_, name));
  }

 private:
  void* handle_;  // never unloaded
};

// Each initializer has a function of its own, as a variable with one has.
template <int kWhich, typename Begin, typename End>
[[gnu::noinline]] void RunGuarded(Begin begin, End end, uint64_t* guard,
                                  const std::function<void()>& initialize) {
  if (begin(guard) == 0) return;
  initialize();
  end(guard);
}

template <typename Begin, typename End>
void RunEither(int which, Begin begin, End end, const std::function<void()>& initialize) {
  static uint64_t guards[2] = {};
  if (which == 0) RunGuarded<0>(begin, end, &guards[0], initialize);
  if (which == 1) RunGuarded<1>(begin, end, &guards[1], initialize);
}

TEST_F(InitializersTest, AnInitializerOfGlibIsRunByTheOwner) {
  const LoadedLibrary glib("libglib-2.0.so.0");
  static int (*begin)(void*);
  static void (*leave)(void*, size_t);
  begin = glib.Find<int (*)(void*)>("g_once_init_enter");
  leave = glib.Find<void (*)(void*, size_t)>("g_once_init_leave");
  if (begin == nullptr || leave == nullptr) GTEST_SKIP() << "no GLib here";
  ExpectRunner(
      [](int which, const std::function<void()>& initialize) {
        RunEither(
            which, begin, [](void* guard) { leave(guard, 1); }, initialize);
      },
      [&](int waiter_tid, int runner_tid) {
        FollowToOwner(waiter_tid);
        ASSERT_FALSE(chain_.waits().empty());
        EXPECT_EQ(chain_.waits()[0].lock.kind, LockKind::kOnce);
        EXPECT_EQ(chain_.waits()[0].lock.owner_tid, runner_tid);
      });
}

TEST_F(InitializersTest, AnInitializerOfLibcxxIsRunByTheOwner) {
  const LoadedLibrary library("libc++abi.so.1");
  static int (*begin)(uint64_t*);
  static void (*end)(uint64_t*);
  begin = library.Find<int (*)(uint64_t*)>("__cxa_guard_acquire");
  end = library.Find<void (*)(uint64_t*)>("__cxa_guard_release");
  if (begin == nullptr || end == nullptr) GTEST_SKIP() << "no libc++ here";
  ExpectRunner(
      [](int which, const std::function<void()>& initialize) { RunEither(which, begin, end, initialize); },
      [&](int waiter_tid, int runner_tid) {
        FollowToOwner(waiter_tid);
        ASSERT_FALSE(chain_.waits().empty());
        EXPECT_EQ(chain_.waits()[0].lock.kind, LockKind::kOnce);
        EXPECT_EQ(chain_.waits()[0].lock.owner_tid, runner_tid);
      });
}

}  // namespace
}  // namespace lagwatch::watchdog
