// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tests/trace/hooks/hooks_testing.h"

namespace lagwatch::trace {
namespace {

TEST(HookRecorder, CapturesItsCallersStackWhenDue) {
  SubjectRecorder recorder(0);  // always due
  const Subject& subject = LazySubject();
  timespec now;
  recorder.Forget();
  for (int i = 0; i < 100; ++i) subject.read_clock(CLOCK_MONOTONIC, &now);
  const auto records = recorder.Of(RunKind::kCaptured, CallKind::kClock);
  ASSERT_GE(records.size(), 100u / 32);
  for (const KeptRecord& record : records) {
    EXPECT_EQ(gettid(), record.tid);
    EXPECT_EQ(record.begin_ticks, record.end_ticks);
    ASSERT_GE(record.depth, 2);
    EXPECT_TRUE(subject.is_own_code(record.pcs[0])) << "who called the hooked function comes first";
    EXPECT_TRUE(subject.is_own_code(record.pcs[1]));
    EXPECT_GT(record.totals.cpu_ns, 0);
  }
}

TEST(HookRecorder, CapturesNothingBeforeTheInterval) {
  SubjectRecorder recorder(kNeverNs);
  const Subject& subject = LazySubject();
  timespec now;
  subject.read_clock(CLOCK_MONOTONIC, &now);  // a thread's first is always due
  recorder.Forget();
  for (int i = 0; i < 1000; ++i) subject.release(subject.allocate(10));
  for (int i = 0; i < 1000; ++i) subject.read_clock(CLOCK_MONOTONIC, &now);
  EXPECT_TRUE(recorder.Drain().empty());
  recorder.recorder().SetInterval(0);
  for (int i = 0; i < 1000; ++i) subject.read_clock(CLOCK_MONOTONIC, &now);
  EXPECT_GT(recorder.Drain().size(), 10u);
}

TEST(HookRecorder, KeepsToTheIntervalWhereCallsAreFrequent) {
  constexpr int64_t kIntervalNs = 2 * base::kNsPerMs;
  SubjectRecorder recorder(kIntervalNs);
  const Subject& subject = LazySubject();
  const int64_t begin_ns = base::SystemClock().MonoNs();
  int64_t end_ns = begin_ns;
  for (; end_ns - begin_ns < 200 * base::kNsPerMs; end_ns = base::SystemClock().MonoNs())
    subject.release(subject.allocate(10));
  const auto& records = recorder.Drain();
  EXPECT_GT(records.size(), 10u);
  EXPECT_LE(records.size(), static_cast<size_t>((end_ns - begin_ns) / kIntervalNs) + 1);
}

TEST(HookRecorder, CountsEveryAllocation) {
  SubjectRecorder recorder(kNeverNs);
  for (const Subject* subject : {&LazySubject(), &BoundSubject()}) {
    CaptureHere(true);
    void* memory = nullptr;
    for (int i = 0; i < 1000; ++i) {
      subject->release(subject->allocate(10));
      subject->release(subject->allocate_zeroed(3, 7));
      subject->release(subject->reallocate(subject->allocate(1), 100));
      subject->release(subject->allocate_aligned(64, 128));
      ASSERT_EQ(0, subject->allocate_posix(&memory, 32, 5));
      subject->release(memory);
    }
    CaptureHere(true);
    const auto records = recorder.Of(RunKind::kCaptured, CallKind::kUser);
    ASSERT_GE(records.size(), 2u);
    const Totals& before = records[records.size() - 2].totals;
    const Totals& after = records.back().totals;
    EXPECT_EQ(6000u, after.allocations - before.allocations);
    EXPECT_EQ(1000u * (10 + 21 + 1 + 100 + 128 + 5), after.allocated_bytes - before.allocated_bytes);
    EXPECT_GE(after.cpu_ns, before.cpu_ns);
  }
}

TEST(HookRecorder, CapturesCallsThatWaitedWithBeginAndEnd) {
  SubjectRecorder recorder(kNeverNs);
  const Subject& subject = BoundSubject();
  const timespec pause{0, 5 * base::kNsPerMs};
  const base::TickPair before = base::ReadTickPair(base::SystemClock());
  subject.sleep_for(&pause);
  int ends[2];
  ASSERT_EQ(0, pipe(ends));
  subject.poll_one(ends[0], 3);
  const base::TickPair after = base::ReadTickPair(base::SystemClock());
  const auto sleeps = recorder.Of(RunKind::kWaited, CallKind::kSleep);
  const auto polls = recorder.Of(RunKind::kWaited, CallKind::kPoll);
  ASSERT_EQ(1u, sleeps.size());
  ASSERT_EQ(1u, polls.size());
  EXPECT_GE(sleeps[0].begin_ticks, before.ticks);
  EXPECT_GE(polls[0].begin_ticks, sleeps[0].end_ticks);
  EXPECT_LE(polls[0].end_ticks, after.ticks);
  const double ticks_per_ns =
      static_cast<double>(after.ticks - before.ticks) / static_cast<double>(after.mono_ns - before.mono_ns);
  EXPECT_GE(static_cast<double>(sleeps[0].end_ticks - sleeps[0].begin_ticks), 4.9e6 * ticks_per_ns);
  EXPECT_GE(static_cast<double>(polls[0].end_ticks - polls[0].begin_ticks), 2.9e6 * ticks_per_ns);
  EXPECT_GT(polls[0].totals.voluntary_switches, 0u);
  close(ends[0]);
  close(ends[1]);
}

TEST(HookRecorder, TellsTheDispatch) {
  SubjectRecorder recorder(0);
  std::atomic<uint64_t> number{(uint64_t{9} << 32) + 41};
  SetDispatchWords({&number, nullptr, nullptr, nullptr});
  CaptureHere(true);
  number = 42;
  CaptureHere(true);
  SetDispatchWords({});
  CaptureHere(true);
  const auto records = recorder.Of(RunKind::kCaptured, CallKind::kUser);
  ASSERT_EQ(3u, records.size());
  EXPECT_EQ(41u, records[0].dispatch);
  EXPECT_EQ(42u, records[1].dispatch);
  EXPECT_EQ(0u, records[2].dispatch);
}

TEST(HookRecorder, OtherSourcesOfStacksPutItsCapturesOff) {
  SubjectRecorder recorder(100 * base::kNsPerMs);
  CaptureHere(true);
  std::atomic<uint64_t>* last_ticks = LastCaptureTicks(gettid());
  ASSERT_NE(nullptr, last_ticks);
  last_ticks->store(0);
  EXPECT_TRUE(CaptureHere(false));
  EXPECT_NE(0u, last_ticks->load());
  last_ticks->store(base::ReadTicks() + 1'000'000);  // a sampler that read the clock after we did
  EXPECT_FALSE(CaptureHere(false));
  EXPECT_EQ(nullptr, LastCaptureTicks(1));
}

TEST(HookRecorder, KeepsErrno) {
  SubjectRecorder recorder(0);
  for (const Subject* subject : {&LazySubject(), &BoundSubject()}) {
    char byte;
    errno = 0;
    EXPECT_EQ(-1, subject->read(-1, &byte, 1));
    EXPECT_EQ(EBADF, errno);
    EXPECT_EQ(-1, subject->open("/nowhere/at/all", O_RDONLY, 0));
    EXPECT_EQ(ENOENT, errno);
    errno = EXDEV;
    subject->release(subject->allocate(10));
    EXPECT_EQ(0, subject->current_cpu());
    sem_t semaphore;
    sem_init(&semaphore, 0, 1);
    EXPECT_EQ(0, subject->semaphore_wait(&semaphore));
    EXPECT_EQ(EXDEV, errno);
    EXPECT_EQ(-1, subject->semaphore_trywait(&semaphore));
    EXPECT_EQ(EAGAIN, errno);
    sem_destroy(&semaphore);
  }
}

TEST(HookRecorder, DropsAndCountsWhatDoesNotFit) {
  SubjectRecorder recorder(0);
  const CaptureCounts before = HookRecorder::counters().threads;
  for (int i = 0; i < 10'000; ++i) CaptureHere(true);
  const CaptureCounts after = HookRecorder::counters().threads;
  const size_t kept = recorder.Of(RunKind::kCaptured, CallKind::kUser).size();
  EXPECT_GT(kept, 40u);
  EXPECT_EQ(10'000u - kept, after.dropped_full - before.dropped_full);
  EXPECT_EQ(kept, after.captures - before.captures);
}

TEST(HookRecorder, RefusesASecondOne) {
  SubjectRecorder recorder(0);
  HookRecorder second;
  EXPECT_FALSE(second.Start({}).ok());
  EXPECT_TRUE(recorder.recorder().Stop());
  EXPECT_TRUE(recorder.recorder().Stop());
  EXPECT_TRUE(second.Start({.modules = {.allow = {"*hook_subject*"}}}).ok());
}

TEST(HookRecorder, LeavesThreadsOutThatAreItsOwn) {
  SubjectRecorder recorder(0);
  std::thread([&] {
    LeaveThisThreadOut();
    for (int i = 0; i < 100; ++i) LazySubject().release(LazySubject().allocate(1));
    EXPECT_FALSE(CaptureHere(true));
    EXPECT_EQ(nullptr, LastCaptureTicks(gettid()));
  }).join();
}

void CallInHandler(int) {
  static sem_t semaphore;
  timespec now;
  LazySubject().read_clock(CLOCK_MONOTONIC, &now);
  LazySubject().semaphore_post(&semaphore);
}

TEST(HookRecorder, SurvivesHooksInSignalHandlers) {
  SubjectRecorder recorder(0);
  struct sigaction action {};
  action.sa_handler = CallInHandler;
  struct sigaction before;
  ASSERT_EQ(0, sigaction(SIGUSR1, &action, &before));
  std::atomic<bool> is_over{false};
  std::atomic<int64_t> rounds{0};
  std::thread worker([&] {
    timespec now;
    while (!is_over) {
      LazySubject().read_clock(CLOCK_MONOTONIC, &now);
      CaptureHere(true);
      ++rounds;
    }
  });
  while (rounds.load() == 0) std::this_thread::yield();
  size_t count = 0;
  for (int i = 0; i < 3000; ++i) {
    pthread_kill(worker.native_handle(), SIGUSR1);
    if (i % 20 == 0)
      count += recorder.recorder().Drain(
          [](int32_t, const CaptureRecord& record, const uint64_t*) { ASSERT_GE(record.depth, 1); });
  }
  is_over = true;
  worker.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_GT(count, 0u);
}

TEST(HookRecorder, IsOffInAChildUntilItIsStartedThere) {
  SubjectRecorder recorder(0);
  const Subject& subject = BoundSubject();
  CaptureHere(true);
  const pid_t child = fork();
  if (child == 0) {
    subject.release(subject.allocate(10));
    if (CaptureHere(true) || recorder.recorder().is_recording() || !recorder.Drain().empty()) _exit(1);
    recorder.Start();
    if (!CaptureHere(true) || recorder.Of(RunKind::kCaptured, CallKind::kUser).size() != 1) _exit(2);
    if (recorder.Drain().back().tid != gettid()) _exit(3);
    _exit(recorder.recorder().Stop() ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
  EXPECT_TRUE(recorder.recorder().is_recording());
  EXPECT_TRUE(CaptureHere(true));
}

}  // namespace
}  // namespace lagwatch::trace
