// SPDX-License-Identifier: Apache-2.0
// Waiters and their wakers: the tests' own records have the owners.
#include <gtest/gtest.h>

#include "tests/trace/hooks/hooks_testing.h"

namespace lagwatch::trace {
namespace {

uint64_t Address(const void* object) { return reinterpret_cast<uint64_t>(object); }

// A thread's own id, once it runs.
class Helper {
 public:
  template <typename Run>
  explicit Helper(Run run)
      : thread_([this, run] {
          tid_ = gettid();
          run();
        }) {}
  ~Helper() { Join(); }
  int32_t tid() const {
    while (tid_ == 0) std::this_thread::yield();
    return tid_;
  }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<int32_t> tid_{0};
  std::thread thread_;
};

// The only wait of the kind is the waiter's, and was ended by the calling thread.
void ExpectWokenByUs(SubjectRecorder* recorder, CallKind call, const void* object, int32_t waiter) {
  const auto waits = recorder->Of(RunKind::kWaited, call);
  ASSERT_EQ(1u, waits.size());
  EXPECT_EQ(waiter, waits[0].tid);
  EXPECT_EQ(Address(object), waits[0].object);
  EXPECT_LT(waits[0].begin_ticks, waits[0].end_ticks);
  const auto wakes = recorder->Of(RunKind::kWoke, call);
  EXPECT_EQ(gettid(), WakerOf(waits[0], wakes));
  for (const KeptRecord& wake : wakes) {
    EXPECT_TRUE(LazySubject().is_own_code(wake.pcs[0]) || BoundSubject().is_own_code(wake.pcs[0]));
  }
}

TEST(Wakes, OfAConditionNameWhoSignalled) {
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  const Subject& subject = LazySubject();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  for (const bool is_broadcast : {false, true}) {
    bool is_set = false;
    Helper waiter([&] {
      subject.lock(&mutex);
      while (!is_set) subject.cond_wait(&condition, &mutex);
      subject.unlock(&mutex);
    });
    const int32_t tid = waiter.tid();
    LetOthersWait();
    subject.lock(&mutex);
    is_set = true;
    (is_broadcast ? subject.cond_broadcast : subject.cond_signal)(&condition);
    subject.unlock(&mutex);
    waiter.Join();
    ExpectWokenByUs(&recorder, CallKind::kCondition, &condition, tid);
    recorder.Forget();
  }
  subject.cond_signal(&condition);
  EXPECT_TRUE(recorder.Of(RunKind::kWoke, CallKind::kCondition).empty()) << "nobody waits";
}

TEST(Wakes, OfAMutexThatAConditionReleased) {
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  const Subject& subject = BoundSubject();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  subject.lock(&mutex);
  Helper waiter([&] {
    subject.lock(&mutex);
    subject.cond_signal(&condition);
    subject.unlock(&mutex);
  });
  const int32_t tid = waiter.tid();
  LetOthersWait();
  subject.cond_wait(&condition, &mutex);  // lets the other one in
  subject.unlock(&mutex);
  waiter.Join();
  const auto waits = recorder.Of(RunKind::kWaited, CallKind::kMutex);
  ASSERT_GE(waits.size(), 1u);
  EXPECT_EQ(tid, waits[0].tid);
  EXPECT_EQ(gettid(), WakerOf(waits[0], recorder.Of(RunKind::kWoke, CallKind::kMutex)));
}

TEST(Wakes, OfASemaphoreNameWhoPosted) {
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  const Subject& subject = LazySubject();
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  for (const bool is_timed : {false, true}) {
    Helper waiter([&] {
      timespec until;
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_sec += 60;
      EXPECT_EQ(
          0, is_timed ? subject.semaphore_timedwait(&semaphore, &until) : subject.semaphore_wait(&semaphore));
    });
    const int32_t tid = waiter.tid();
    LetOthersWait();
    subject.semaphore_post(&semaphore);
    waiter.Join();
    ExpectWokenByUs(&recorder, CallKind::kSemaphore, &semaphore, tid);
    recorder.Forget();
  }
  sem_destroy(&semaphore);
}

TEST(Wakes, OfAReadWriteLockNameWhoReleasedIt) {
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  const Subject& subject = BoundSubject();
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (const bool is_reader : {false, true}) {
    (is_reader ? subject.rdlock : subject.wrlock)(&lock);
    Helper waiter([&] {
      EXPECT_EQ(0, subject.wrlock(&lock));
      subject.rwlock_unlock(&lock);
    });
    const int32_t tid = waiter.tid();
    LetOthersWait();
    subject.rwlock_unlock(&lock);
    waiter.Join();
    ExpectWokenByUs(&recorder, CallKind::kRwLock, &lock, tid);
    recorder.Forget();
  }
}

TEST(Wakes, OfAFutexNameWhoWokeIt) {
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  const Subject& subject = LazySubject();
  std::atomic<uint32_t> word{0};
  auto* raw = reinterpret_cast<uint32_t*>(&word);
  Helper waiter([&] {
    while (word == 0) subject.futex_wait(raw, 0);
  });
  const int32_t tid = waiter.tid();
  LetOthersWait();
  word = 1;
  subject.futex_wake(raw, 1);
  waiter.Join();
  ExpectWokenByUs(&recorder, CallKind::kFutex, raw, tid);
}

TEST(Wakes, OfABarrierNameWhoCameLast) {
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  const Subject& subject = LazySubject();
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  Helper waiter([&] { subject.barrier_wait(&barrier); });
  const int32_t tid = waiter.tid();
  LetOthersWait();
  EXPECT_EQ(PTHREAD_BARRIER_SERIAL_THREAD, subject.barrier_wait(&barrier));
  waiter.Join();
  ExpectWokenByUs(&recorder, CallKind::kBarrier, &barrier, tid);
  pthread_barrier_destroy(&barrier);
}

TEST(Wakes, OfAJoinNameTheThreadThatEnded) {
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  struct Ending {
    std::atomic<int32_t> tid{0};
    std::atomic<bool> may_end{false};
  } ending;
  pthread_t thread;
  auto run = [](void* context) -> void* {
    auto* own = static_cast<Ending*>(context);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    LazySubject().lock(&mutex);
    LazySubject().unlock(&mutex);  // a thread without hooked calls is not known
    own->tid = gettid();
    while (!own->may_end) std::this_thread::yield();
    return nullptr;
  };
  ASSERT_EQ(0, pthread_create(&thread, nullptr, run, &ending));
  Helper joiner([&] { EXPECT_EQ(0, LazySubject().join(thread, nullptr)); });
  const int32_t tid = joiner.tid();
  LetOthersWait();
  ending.may_end = true;
  joiner.Join();
  const auto waits = recorder.Of(RunKind::kWaited, CallKind::kJoin);
  ASSERT_EQ(1u, waits.size());
  EXPECT_EQ(tid, waits[0].tid);
  EXPECT_EQ(static_cast<uint64_t>(thread), waits[0].object);
  EXPECT_EQ(ending.tid, WakerOf(waits[0], recorder.Of(RunKind::kWoke, CallKind::kJoin)));
}

TEST(Wakes, AreNotRecordedWhenNobodyWaits) {
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  const Subject& subject = LazySubject();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < 1000; ++i) {
    subject.lock(&mutex);
    subject.unlock(&mutex);
  }
  EXPECT_TRUE(recorder.Of(RunKind::kWaited, CallKind::kMutex).empty());
  EXPECT_TRUE(recorder.Of(RunKind::kWoke, CallKind::kMutex).empty());
}

// A cancelled wait leaves no waiter behind that would count for ever.
TEST(Wakes, ForgetWaitersThatAreCancelled) {
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  pthread_t thread;
  auto run = [](void* context) -> void* {
    CaptureHere(true);
    LazySubject().semaphore_wait(static_cast<sem_t*>(context));
    return nullptr;
  };
  ASSERT_EQ(0, pthread_create(&thread, nullptr, run, &semaphore));
  while (!g_waiters.HasWaiter(Address(&semaphore))) std::this_thread::yield();
  LetOthersWait();
  pthread_cancel(thread);
  void* result = nullptr;
  ASSERT_EQ(0, pthread_join(thread, &result));
  EXPECT_EQ(PTHREAD_CANCELED, result);
  EXPECT_FALSE(g_waiters.HasWaiter(Address(&semaphore)));
  sem_destroy(&semaphore);
}

}  // namespace
}  // namespace lagwatch::trace
