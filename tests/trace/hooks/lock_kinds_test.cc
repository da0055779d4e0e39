// SPDX-License-Identifier: Apache-2.0
// Locks of all kinds answer as they do without hooks: each test runs with recording on and off.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "tests/trace/hooks/hooks_testing.h"

namespace lagwatch::trace {
namespace {

timespec InMs(clockid_t clock, int64_t ms) {
  timespec time;
  clock_gettime(clock, &time);
  const int64_t ns = time.tv_nsec + ms * base::kNsPerMs;
  return {time.tv_sec + ns / base::kNsPerSecond, ns % base::kNsPerSecond};
}

class Mutex {
 public:
  explicit Mutex(int type, int robust = PTHREAD_MUTEX_STALLED, int protocol = PTHREAD_PRIO_NONE) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
  ~Mutex() { pthread_mutex_destroy(&mutex_); }
  pthread_mutex_t* get() { return &mutex_; }

 private:
  pthread_mutex_t mutex_;
};

// Tests that misuse locks, or end their owners.
#if defined(__SANITIZE_THREAD__)
constexpr bool kIsMisuseReported = true;
#else
constexpr bool kIsMisuseReported = false;
#endif

class LockKinds : public ::testing::TestWithParam<bool> {
 protected:
  LockKinds() {
    if (GetParam()) recorder_ = std::make_unique<SubjectRecorder>(kNeverNs);
  }

  const Subject& subject_ = LazySubject();

 private:
  std::unique_ptr<SubjectRecorder> recorder_;
};

INSTANTIATE_TEST_SUITE_P(Hooked, LockKinds, ::testing::Bool());

TEST_P(LockKinds, RecursiveIsLockedAgainByItsOwner) {
  if (kIsMisuseReported) GTEST_SKIP() << "the thread sanitizer reports misuse, which this is about";
  Mutex mutex(PTHREAD_MUTEX_RECURSIVE);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(0, subject_.lock(mutex.get()));
  std::thread([&] { EXPECT_EQ(EBUSY, subject_.trylock(mutex.get())); }).join();
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { EXPECT_EQ(EBUSY, subject_.trylock(mutex.get())); }).join();
    EXPECT_EQ(0, subject_.unlock(mutex.get()));
  }
  EXPECT_EQ(EPERM, subject_.unlock(mutex.get()));
}

TEST_P(LockKinds, ErrorCheckingSaysWhatIsWrong) {
  if (kIsMisuseReported) GTEST_SKIP() << "the thread sanitizer reports misuse, which this is about";
  Mutex mutex(PTHREAD_MUTEX_ERRORCHECK);
  EXPECT_EQ(EPERM, subject_.unlock(mutex.get()));
  EXPECT_EQ(0, subject_.lock(mutex.get()));
  EXPECT_EQ(EDEADLK, subject_.lock(mutex.get()));
  EXPECT_EQ(EBUSY, subject_.trylock(mutex.get()));
  const timespec until = InMs(CLOCK_REALTIME, 10);
  EXPECT_EQ(EDEADLK, subject_.timedlock(mutex.get(), &until));
  std::thread([&] { EXPECT_EQ(EPERM, subject_.unlock(mutex.get())); }).join();
  EXPECT_EQ(0, subject_.unlock(mutex.get()));
}

TEST_P(LockKinds, RobustSaysThatItsOwnerDied) {
  if (kIsMisuseReported) GTEST_SKIP() << "the thread sanitizer reports misuse, which this is about";
  Mutex mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  std::thread([&] { EXPECT_EQ(0, subject_.lock(mutex.get())); }).join();
  EXPECT_EQ(EOWNERDEAD, subject_.lock(mutex.get()));
  EXPECT_EQ(0, pthread_mutex_consistent(mutex.get()));
  EXPECT_EQ(0, subject_.unlock(mutex.get()));
  // Also for a thread that waits for it by then.
  std::atomic<bool> is_locked{false};
  std::thread owner([&] {
    EXPECT_EQ(0, subject_.lock(mutex.get()));
    is_locked = true;
    LetOthersWait();
  });
  while (!is_locked) std::this_thread::yield();
  EXPECT_EQ(EOWNERDEAD, subject_.lock(mutex.get()));
  EXPECT_EQ(0, subject_.unlock(mutex.get()));  // not made consistent
  EXPECT_EQ(ENOTRECOVERABLE, subject_.lock(mutex.get()));
  owner.join();
}

TEST_P(LockKinds, InheritingPriorityWorks) {
  Mutex mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
  EXPECT_EQ(0, subject_.lock(mutex.get()));
  std::thread waiter([&] {
    EXPECT_EQ(EBUSY, subject_.trylock(mutex.get()));
    EXPECT_EQ(0, subject_.lock(mutex.get()));
    EXPECT_EQ(0, subject_.unlock(mutex.get()));
  });
  LetOthersWait();
  EXPECT_EQ(0, subject_.unlock(mutex.get()));
  waiter.join();
}

TEST_P(LockKinds, TimedLockEndsInTime) {
  Mutex mutex(PTHREAD_MUTEX_NORMAL);
  const timespec past{1, 0};
  const timespec no_time{1, -1};
  EXPECT_EQ(0, subject_.timedlock(mutex.get(), &past)) << "free: the time does not matter";
  std::thread([&] {
    const timespec until = InMs(CLOCK_REALTIME, 5);
    EXPECT_EQ(ETIMEDOUT, subject_.timedlock(mutex.get(), &until));
    EXPECT_EQ(ETIMEDOUT, subject_.timedlock(mutex.get(), &past));
    EXPECT_EQ(EINVAL, subject_.timedlock(mutex.get(), &no_time));
    const timespec mono_until = InMs(CLOCK_MONOTONIC, 5);
    EXPECT_EQ(ETIMEDOUT, subject_.clocklock(mutex.get(), CLOCK_MONOTONIC, &mono_until));
  }).join();
  EXPECT_EQ(0, subject_.unlock(mutex.get()));
  EXPECT_EQ(EINVAL, subject_.clocklock(mutex.get(), CLOCK_THREAD_CPUTIME_ID, &past));
}

TEST_P(LockKinds, ReadWriteLockKnowsItsWriter) {
  if (kIsMisuseReported) GTEST_SKIP() << "the thread sanitizer reports misuse, which this is about";
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  EXPECT_EQ(0, subject_.wrlock(&lock));
  EXPECT_EQ(EDEADLK, subject_.wrlock(&lock));
  EXPECT_EQ(EDEADLK, subject_.rdlock(&lock));
  std::thread([&] {
    EXPECT_EQ(EBUSY, subject_.trywrlock(&lock));
    const timespec until = InMs(CLOCK_REALTIME, 5);
    EXPECT_EQ(ETIMEDOUT, subject_.timedwrlock(&lock, &until));
    const timespec no_time{1, -1};
    EXPECT_EQ(EINVAL, subject_.timedwrlock(&lock, &no_time));
  }).join();
  EXPECT_EQ(0, subject_.rwlock_unlock(&lock));
  EXPECT_EQ(0, subject_.rdlock(&lock));
  EXPECT_EQ(0, subject_.rdlock(&lock));
  EXPECT_EQ(EBUSY, subject_.trywrlock(&lock));
  EXPECT_EQ(0, subject_.rwlock_unlock(&lock));
  EXPECT_EQ(0, subject_.rwlock_unlock(&lock));
}

TEST_P(LockKinds, ConditionAndSemaphoreTimeOut) {
  if (kIsMisuseReported) GTEST_SKIP() << "the thread sanitizer reports misuse, which this is about";
  Mutex mutex(PTHREAD_MUTEX_ERRORCHECK);
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  timespec until = InMs(CLOCK_REALTIME, 5);
  EXPECT_EQ(0, subject_.lock(mutex.get()));
  EXPECT_EQ(ETIMEDOUT, subject_.cond_timedwait(&condition, mutex.get(), &until));
  EXPECT_EQ(0, subject_.unlock(mutex.get())) << "the mutex came back";
  EXPECT_EQ(EPERM, subject_.cond_wait(&condition, mutex.get())) << "is not ours";
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  until = InMs(CLOCK_REALTIME, 5);
  EXPECT_EQ(-1, subject_.semaphore_timedwait(&semaphore, &until));
  EXPECT_EQ(ETIMEDOUT, errno);
  const timespec no_time{1, -1};
  EXPECT_EQ(0, subject_.semaphore_post(&semaphore));
  EXPECT_EQ(-1, subject_.semaphore_timedwait(&semaphore, &no_time));
  EXPECT_EQ(EINVAL, errno);
  EXPECT_EQ(0, subject_.semaphore_wait(&semaphore));
  sem_destroy(&semaphore);
}

TEST_P(LockKinds, FutexAnswersAsTheKernelDoes) {
  uint32_t word = 1;
  EXPECT_EQ(-1, subject_.futex_wait(&word, 0));
  EXPECT_EQ(EAGAIN, errno);
  EXPECT_EQ(0, subject_.futex_wake(&word, 1));
}

}  // namespace
}  // namespace lagwatch::trace
