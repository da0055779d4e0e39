// SPDX-License-Identifier: Apache-2.0
// Real threads that wait for real locks of every kind.
#include "stack/threads/lock_owner.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"

namespace lagwatch::stack {
namespace {

constexpr timespec kFarFuture{.tv_sec = 4'000'000'000, .tv_nsec = 0};

// A thread that waits for something in `memory`, which the test ends before this goes.
class Waiter {
 public:
  Waiter(std::function<void()> wait, const void* memory, size_t size_bytes)
      : thread_([this, wait = std::move(wait)] {
          tid_ = gettid();
          wait();
        }) {
    uint64_t begin = reinterpret_cast<uint64_t>(memory);
    is_waiting_ = testing::WaitUntil([&] {
      BlockedThread blocked;
      return tid_.load() != 0 &&
             ReadThreadActivity(base::OwnThread(tid_), &blocked) == ThreadActivity::kBlocked &&
             blocked.syscall_number == SYS_futex && blocked.arguments[0] - begin < size_bytes;
    });
  }
  template <typename Lock>
  Waiter(std::function<void()> wait, const Lock* lock) : Waiter(std::move(wait), lock, sizeof *lock) {}
  ~Waiter() {
    if (thread_.joinable()) thread_.join();
  }

  int tid() const { return tid_; }
  std::thread& thread() { return thread_; }
  bool is_waiting() const { return is_waiting_; }

 private:
  std::atomic<int> tid_{0};
  bool is_waiting_ = false;
  std::thread thread_;
};

class LockOwnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's system calls");
    capturer_ = StackCapturer::Create({}, CreateTableUnwinder().value()).value();
    std::thread([&] { EXPECT_EQ(owners_.MeasureLayouts(), 0); }).join();
  }

  // As the watchdog asks: on a thread that has no part in it.
  LockWait WaitOf(const Waiter& waiter) { return WaitOf(waiter, owners_); }
  LockWait WaitOf(const Waiter& waiter, const LockOwners& owners) {
    EXPECT_TRUE(waiter.is_waiting());
    std::optional<LockWait> wait;
    std::thread([&] {
      capturer_->RefreshModules();
      capturer_->Capture(waiter.tid(), stack_.get());
      BlockedThread blocked;
      EXPECT_EQ(ReadThreadActivity(base::OwnThread(waiter.tid()), &blocked), ThreadActivity::kBlocked);
      wait = owners.Find(blocked, *stack_, capturer_->modules());
    }).join();
    return wait.value();
  }
  // `waiter` must wait for `lock`, which this thread has.
  void ExpectOwnedByThisThread(const Waiter& waiter, LockKind kind, const void* lock,
                               bool has_timeout = false) {
    EXPECT_EQ(WaitOf(waiter),
              (LockWait{reinterpret_cast<uint64_t>(lock), kind, WaitsFor::kOwner, has_timeout, gettid()}));
  }
  void ExpectNoOwner(const Waiter& waiter, LockKind kind, WaitsFor waits_for) {
    LockWait wait = WaitOf(waiter);
    EXPECT_EQ(wait.kind, kind);
    EXPECT_EQ(wait.waits_for, waits_for);
    EXPECT_EQ(wait.owner_tid, 0);
  }

  std::unique_ptr<StackCapturer> capturer_;
  LockOwners owners_;
  std::unique_ptr<Stack> stack_{new Stack};
};

template <typename Mutex>
class StandardMutexTest : public LockOwnerTest {};
using StandardMutexes = ::testing::Types<std::mutex, std::recursive_mutex>;
TYPED_TEST_SUITE(StandardMutexTest, StandardMutexes);

TYPED_TEST(StandardMutexTest, IsHeldByTheThreadThatLockedIt) {
  TypeParam mutex;
  std::unique_lock held(mutex);
  Waiter waiter([&] { std::lock_guard lock(mutex); }, &mutex);
  this->ExpectOwnedByThisThread(waiter, LockKind::kMutex, &mutex);
  held.unlock();
}

struct MutexVariant {
  const char* name;
  int type = PTHREAD_MUTEX_NORMAL;
  int robustness = PTHREAD_MUTEX_STALLED;
  int protocol = PTHREAD_PRIO_NONE;
  int sharing = PTHREAD_PROCESS_PRIVATE;
};

void InitMutex(const MutexVariant& variant, pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, variant.type);
  pthread_mutexattr_setrobust(&attributes, variant.robustness);
  pthread_mutexattr_setprotocol(&attributes, variant.protocol);
  pthread_mutexattr_setpshared(&attributes, variant.sharing);
  ASSERT_EQ(pthread_mutex_init(mutex, &attributes), 0);
  pthread_mutexattr_destroy(&attributes);
}

class PosixMutexTest : public LockOwnerTest, public ::testing::WithParamInterface<MutexVariant> {};

TEST_P(PosixMutexTest, IsHeldByTheThreadThatLockedIt) {
  pthread_mutex_t mutex;
  InitMutex(GetParam(), &mutex);
  pthread_mutex_lock(&mutex);
  {
    auto lock_and_unlock = [&] {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    };
    Waiter first(lock_and_unlock, &mutex);
    Waiter second(lock_and_unlock, &mutex);
    ExpectOwnedByThisThread(first, LockKind::kMutex, &mutex);
    ExpectOwnedByThisThread(second, LockKind::kMutex, &mutex);
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_destroy(&mutex);
}

TEST_P(PosixMutexTest, IsHeldByTheThreadThatLockedItWhenWaitedForWithATimeout) {
  pthread_mutex_t mutex;
  InitMutex(GetParam(), &mutex);
  pthread_mutex_lock(&mutex);
  {
    Waiter waiter(
        [&] {
          if (pthread_mutex_timedlock(&mutex, &kFarFuture) == 0) pthread_mutex_unlock(&mutex);
        },
        &mutex);
    ExpectOwnedByThisThread(waiter, LockKind::kMutex, &mutex, /*has_timeout=*/true);
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_destroy(&mutex);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, PosixMutexTest,
    ::testing::Values(
        MutexVariant{"Normal"}, MutexVariant{"Recursive", PTHREAD_MUTEX_RECURSIVE},
        MutexVariant{"ErrorChecking", PTHREAD_MUTEX_ERRORCHECK},
        MutexVariant{"Adaptive", PTHREAD_MUTEX_ADAPTIVE_NP},
        MutexVariant{"Robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST},
        MutexVariant{"RobustRecursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST},
        MutexVariant{"Inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT},
        MutexVariant{"InheritingRobust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT},
        MutexVariant{"Shared", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
                     PTHREAD_PROCESS_SHARED}),
    [](const auto& variant) { return variant.param.name; });

// Its owner may be a thread of another process, with the same number in that one's own counting.
TEST_F(LockOwnerTest, AMutexInSharedMemoryHasNoOwner) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* mutex = static_cast<pthread_mutex_t*>(memory);
  for (int robustness : {PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST}) {
    InitMutex({"", PTHREAD_MUTEX_NORMAL, robustness, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED}, mutex);
    pthread_mutex_lock(mutex);
    Waiter waiter(
        [&] {
          pthread_mutex_lock(mutex);
          pthread_mutex_unlock(mutex);
        },
        mutex);
    LockWait wait = WaitOf(waiter);
    EXPECT_EQ(wait.waits_for, WaitsFor::kUnknown);
    EXPECT_EQ(wait.owner_tid, 0);
    pthread_mutex_unlock(mutex);
  }
  munmap(memory, 4096);
}

TEST_F(LockOwnerTest, AWriterHoldsOffReadersAndWriters) {
  std::shared_mutex mutex;
  std::unique_lock writing(mutex);
  auto write = [&] { std::unique_lock lock(mutex); };
  Waiter reader([&] { std::shared_lock lock(mutex); }, &mutex);
  Waiter first_writer(write, &mutex);
  Waiter second_writer(write, &mutex);
  for (const Waiter* waiter : {&reader, &first_writer, &second_writer}) {
    ExpectOwnedByThisThread(*waiter, LockKind::kRwLock, &mutex);
  }
  writing.unlock();
}

TEST_F(LockOwnerTest, AWriterHoldsOffThoseWithATimeout) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_wrlock(&lock);
  {
    Waiter reader(
        [&] {
          if (pthread_rwlock_timedrdlock(&lock, &kFarFuture) == 0) pthread_rwlock_unlock(&lock);
        },
        &lock);
    Waiter writer(
        [&] {
          if (pthread_rwlock_timedwrlock(&lock, &kFarFuture) == 0) pthread_rwlock_unlock(&lock);
        },
        &lock);
    ExpectOwnedByThisThread(reader, LockKind::kRwLock, &lock, /*has_timeout=*/true);
    ExpectOwnedByThisThread(writer, LockKind::kRwLock, &lock, /*has_timeout=*/true);
    pthread_rwlock_unlock(&lock);
  }
  pthread_rwlock_destroy(&lock);
}

TEST_F(LockOwnerTest, ReadersAreNotNamed) {
  // The memory before the lock looks like a lock with readers.
  struct {
    uint32_t misleading[4] = {16, 18, 16, 18};
    std::shared_mutex mutex;
  } memory;
  std::shared_lock reading(memory.mutex);
  auto write = [&] { std::unique_lock lock(memory.mutex); };
  Waiter first_writer(write, &memory.mutex);
  Waiter second_writer(write, &memory.mutex);
  for (const Waiter* waiter : {&first_writer, &second_writer}) {
    ExpectNoOwner(*waiter, LockKind::kRwLock, WaitsFor::kReaders);
    EXPECT_EQ(WaitOf(*waiter).address, reinterpret_cast<uint64_t>(&memory.mutex));
  }
  reading.unlock();
}

TEST_F(LockOwnerTest, AReaderBehindAWaitingWriterWaitsForReaders) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_t lock;
  pthread_rwlock_init(&lock, &attributes);
  pthread_rwlock_rdlock(&lock);
  {
    Waiter writer(
        [&] {
          pthread_rwlock_wrlock(&lock);
          pthread_rwlock_unlock(&lock);
        },
        &lock);
    Waiter reader(
        [&] {
          pthread_rwlock_rdlock(&lock);
          pthread_rwlock_unlock(&lock);
        },
        &lock);
    for (const Waiter* waiter : {&writer, &reader}) {
      ExpectNoOwner(*waiter, LockKind::kRwLock, WaitsFor::kReaders);
      EXPECT_EQ(WaitOf(*waiter).address, reinterpret_cast<uint64_t>(&lock));
    }
    pthread_rwlock_unlock(&lock);
  }
  pthread_rwlock_destroy(&lock);
}

TEST_F(LockOwnerTest, AConditionHasNoOwnerUntilItsSignalCameAndItsMutexIsHeld) {
  std::mutex mutex;
  std::condition_variable condition;
  bool is_set = false;
  Waiter waiter(
      [&] {
        std::unique_lock lock(mutex);
        condition.wait(lock, [&] { return is_set; });
      },
      &condition);
  ExpectNoOwner(waiter, LockKind::kCondition, WaitsFor::kSignal);
  {
    std::lock_guard held(mutex);
    is_set = true;
    condition.notify_all();
    EXPECT_TRUE(testing::WaitUntil([&] {
      BlockedThread blocked;
      return ReadThreadActivity(base::OwnThread(waiter.tid()), &blocked) == ThreadActivity::kBlocked &&
             blocked.arguments[0] == reinterpret_cast<uint64_t>(&mutex);
    }));
    ExpectOwnedByThisThread(waiter, LockKind::kMutex, &mutex);
  }
}

TEST_F(LockOwnerTest, ASemaphoreHasNoOwner) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  {
    Waiter waiter([&] { sem_wait(&semaphore); }, &semaphore);
    LockWait wait = WaitOf(waiter);
    EXPECT_TRUE(wait.kind == LockKind::kSemaphore || wait.kind == LockKind::kUnknown);
    EXPECT_NE(wait.waits_for, WaitsFor::kOwner);
    sem_post(&semaphore);
  }
  sem_destroy(&semaphore);
}

TEST_F(LockOwnerTest, ABarrierHasNoOwner) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  {
    Waiter waiter([&] { pthread_barrier_wait(&barrier); }, &barrier);
    ExpectNoOwner(waiter, LockKind::kBarrier, WaitsFor::kSignal);
    pthread_barrier_wait(&barrier);
  }
  pthread_barrier_destroy(&barrier);
}

TEST_F(LockOwnerTest, WhoJoinsWaitsForTheThreadToEnd) {
  std::mutex mutex;
  std::unique_lock held(mutex);
  Waiter joined([&] { std::lock_guard lock(mutex); }, &mutex);
  constexpr size_t kThreadBytes = 8192;
  Waiter joining([&] { joined.thread().join(); }, reinterpret_cast<void*>(joined.thread().native_handle()),
                 kThreadBytes);
  LockWait wait = WaitOf(joining);
  EXPECT_EQ(wait.kind, LockKind::kThread);
  EXPECT_EQ(wait.waits_for, WaitsFor::kOwner);
  EXPECT_EQ(wait.owner_tid, joined.tid());
  held.unlock();
  joining.thread().join();
}

// As the C library's own locks: nothing says that it is a mutex but its words.
TEST_F(LockOwnerTest, AFutexThatLooksLikeALockedMutexHasNoOwner) {
  pthread_mutex_t lookalike = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lookalike);
  auto* word = reinterpret_cast<std::atomic<uint32_t>*>(&lookalike);
  word->store(2);
  {
    Waiter waiter(
        [&] {
          while (word->load() == 2) syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, nullptr);
        },
        &lookalike);
    ExpectNoOwner(waiter, LockKind::kUnknown, WaitsFor::kUnknown);
    word->store(1);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
  }
  pthread_mutex_unlock(&lookalike);
}

TEST_F(LockOwnerTest, AnOwnerThatIsNoThreadOfThisProcessIsNotNamed) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  size_t owner_word = MeasureMutexLayout()->owner;
  auto* words = reinterpret_cast<std::atomic<uint32_t>*>(&mutex);
  {
    Waiter waiter(
        [&] {
          pthread_mutex_lock(&mutex);
          pthread_mutex_unlock(&mutex);
        },
        &mutex);
    for (uint32_t stranger : {0u, 0x3fff'ffffu, 0xffff'ffffu, static_cast<uint32_t>(getppid())}) {
      words[owner_word].store(stranger);
      ExpectNoOwner(waiter, LockKind::kMutex, WaitsFor::kUnknown);
    }
    words[owner_word].store(static_cast<uint32_t>(gettid()));
    ExpectOwnedByThisThread(waiter, LockKind::kMutex, &mutex);
    pthread_mutex_unlock(&mutex);
  }
}

TEST_F(LockOwnerTest, WithoutKnownLayoutsNoOwnerIsNamed) {
  std::mutex mutex;
  std::unique_lock held(mutex);
  Waiter waiter([&] { std::lock_guard lock(mutex); }, &mutex);
  LockWait wait = WaitOf(waiter, LockOwners());
  EXPECT_EQ(wait.kind, LockKind::kMutex);
  EXPECT_EQ(wait.waits_for, WaitsFor::kUnknown);
  held.unlock();
}

TEST_F(LockOwnerTest, AThreadInAnotherCallWaitsForNoLock) {
  BlockedThread blocked{};
  blocked.syscall_number = SYS_read;
  EXPECT_FALSE(owners_.Find(blocked, *stack_, capturer_->modules()));
}

}  // namespace
}  // namespace lagwatch::stack

#if defined(__SANITIZE_THREAD__)
// The tests make locks wait for each other on purpose.
extern "C" const char* __tsan_default_options() { return "detect_deadlocks=0"; }
#endif
