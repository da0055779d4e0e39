// SPDX-License-Identifier: Apache-2.0
// Hand-offs of a contended mutex: the threads record its previous owner under it.
#include <gtest/gtest.h>

#include <map>

#include "tests/trace/hooks/hooks_testing.h"

namespace lagwatch::trace {
namespace {

// Each of some threads takes the mutex over and over and notes, under it, whose it was before.
struct HandedOver {
  struct Turn {
    int32_t tid;
    int32_t before;  // the previous owner
    uint64_t got_ticks;
  };

  void Take(const Subject& subject, std::vector<Turn>* turns) {
    subject.lock(&mutex);
    turns->push_back({gettid(), last, base::ReadTicks()});
    last = gettid();
    const uint64_t begin_ticks = base::ReadTicks();
    while (base::ReadTicks() - begin_ticks < 100'000) {
    }
    subject.unlock(&mutex);
    const timespec pause{0, 20'000};  // or other threads would hardly ever get it
    nanosleep(&pause, nullptr);
  }

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int32_t last = 0;
};

TEST(HandOffs, OfAMutexNameTheRightWakerAThousandTimes) {
  constexpr size_t kWantedWaits = 1000;
  constexpr int64_t kMostNs = 60 * base::kNsPerSecond;
  SubjectRecorder recorder(kNeverNs, kLockHooks);
  const CaptureCounts before = HookRecorder::counters().threads;
  HandedOver hand_offs;
  std::atomic<bool> is_over{false};
  std::atomic<int> rounds{0};
  std::vector<std::vector<HandedOver::Turn>> turns(4);
  std::vector<std::thread> threads;
  for (auto& own_turns : turns) {
    const Subject& subject = threads.size() % 2 == 0 ? LazySubject() : BoundSubject();
    threads.emplace_back([&] {
      while (!is_over) {
        // No more than a ring holds between two drains.
        const int round = rounds;
        for (int i = 0; i < 50 && !is_over; ++i) hand_offs.Take(subject, &own_turns);
        while (rounds == round && !is_over) std::this_thread::yield();
      }
    });
  }
  const int64_t begin_ns = base::SystemClock().MonoNs();
  auto is_mutex_wait = [](const KeptRecord& record) { return record.run == RunKind::kWaited; };
  size_t looked_at = 0;
  for (size_t waits = 0; waits < kWantedWaits && base::SystemClock().MonoNs() - begin_ns < kMostNs;) {
    const auto& records = recorder.Drain();
    waits += static_cast<size_t>(
        std::count_if(records.begin() + static_cast<ptrdiff_t>(looked_at), records.end(), is_mutex_wait));
    looked_at = records.size();
    ++rounds;
    const timespec pause{0, base::kNsPerMs};
    nanosleep(&pause, nullptr);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  const auto waits = recorder.Of(RunKind::kWaited, CallKind::kMutex);
  const auto wakes = recorder.Of(RunKind::kWoke, CallKind::kMutex);
  EXPECT_GE(waits.size(), kWantedWaits);
  EXPECT_EQ(before.dropped_full, HookRecorder::counters().threads.dropped_full);
  // The turn that a wait led to is its thread's first that ended it.
  std::map<int32_t, std::vector<HandedOver::Turn>> by_tid;
  for (const auto& own_turns : turns) by_tid[own_turns.front().tid] = own_turns;
  size_t wrong = 0;
  for (const KeptRecord& wait : waits) {
    EXPECT_EQ(reinterpret_cast<uint64_t>(&hand_offs.mutex), wait.object);
    const auto& own_turns = by_tid[wait.tid];
    const auto turn = std::ranges::lower_bound(own_turns, wait.end_ticks, {}, &HandedOver::Turn::got_ticks);
    ASSERT_NE(own_turns.end(), turn);
    if (WakerOf(wait, wakes) != turn->before) ++wrong;
  }
  EXPECT_EQ(0u, wrong) << "of " << waits.size();
}

}  // namespace
}  // namespace lagwatch::trace
