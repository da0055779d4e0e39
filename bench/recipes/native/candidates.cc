// SPDX-License-Identifier: Apache-2.0
// Waits that record no owner. The culprit has ended such waits before, or is known by what it holds, runs or
// waits for; bystanders have used the same object once.
#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <future>
#include <latch>
#include <mutex>
#include <shared_mutex>

#include "scene.h"

namespace scenes {
namespace {

constexpr int kRounds = 4;  // that the culprit has ended before it is late

void AddBystanders(Cast& cast) {
  cast.Add("bystander", [] { SleepMs(kFreezeMs); });
  cast.Add("bystander", [] {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, std::chrono::milliseconds(kFreezeMs));
  });
}

// The culprit answers each of kRounds questions by `answer`, the last one late.
template <typename Answer>
void AddCulprit(Cast& cast, Answer answer) {
  AddBystanders(cast);
  cast.Add("culprit", [answer] {
    for (int round = 1; round < kRounds; ++round) {
      SleepMs(5);
      answer();
    }
    KeepItWaiting();
    answer();
  });
}

void AwaitNews() {
  static std::mutex mutex;
  static std::condition_variable changed;
  static int news = 0;
  Cast cast;
  AddCulprit(cast, [] {
    {
      std::lock_guard lock(mutex);
      ++news;
    }
    changed.notify_one();
  });
  for (int round = 0; round < kRounds; ++round) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return news > 0; });
    --news;
  }
}

void TakeJob() {
  static std::mutex mutex;
  static std::condition_variable changed;
  static std::deque<int> jobs;
  Cast cast;
  AddCulprit(cast, [] {
    std::lock_guard lock(mutex);
    jobs.push_back(1);
    changed.notify_all();
  });
  for (int round = 0; round < kRounds; ++round) {
    std::unique_lock lock(mutex);
    while (jobs.empty()) changed.wait_for(lock, std::chrono::seconds(20));
    jobs.pop_front();
  }
}

void TakeTicket() {
  static sem_t tickets;
  sem_init(&tickets, 0, 0);
  Cast cast;
  AddCulprit(cast, [] { sem_post(&tickets); });
  for (int round = 0; round < kRounds; ++round) sem_wait(&tickets);
}

void AwaitEvent() {
  static const int event = eventfd(0, EFD_CLOEXEC);
  Cast cast;
  AddCulprit(cast, [] { eventfd_write(event, 1); });
  for (eventfd_t answers = 0, value; answers < kRounds; answers += value) eventfd_read(event, &value);
}

void ReadOwnPipe() {
  static int ends[2];
  if (pipe(ends) != 0) std::abort();
  Cast cast;
  AddCulprit(cast, [] { static_cast<void>(!write(ends[1], "x", 1)); });
  for (int round = 0; round < kRounds; ++round) {
    char byte;
    static_cast<void>(!read(ends[0], &byte, 1));
  }
}

void AwaitNumber() {
  static std::atomic<int> number{0};
  Cast cast;
  AddCulprit(cast, [] {
    ++number;
    number.notify_all();
  });
  for (int seen = 0; seen < kRounds; ++seen) number.wait(seen);
}

void MeetOthers() {
  static pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  Cast cast;
  AddCulprit(cast, [] { pthread_barrier_wait(&barrier); });
  for (int round = 0; round < kRounds; ++round) pthread_barrier_wait(&barrier);
}

void MeetAtPhase() {
  static std::barrier phase(2);
  Cast cast;
  AddCulprit(cast, [] { phase.arrive_and_wait(); });
  for (int round = 0; round < kRounds; ++round) phase.arrive_and_wait();
}

void AwaitLast() {
  std::latch latch(1);
  Cast cast;
  AddBystanders(cast);
  cast.Add("culprit", [&latch] {
    KeepItWaiting();
    latch.count_down();
  });
  latch.wait();
}

void AwaitPromise() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  Cast cast;
  AddBystanders(cast);
  cast.Add("culprit", [promise = std::make_shared<std::promise<int>>(std::move(promise))]() mutable {
    KeepItWaiting();
    promise->set_value(1);
  });
  future.get();
}

// Of a pool of threads.
void AwaitTask() {
  std::packaged_task<void()> task([] { KeepItWaiting(); });
  std::future<void> future = task.get_future();
  Cast cast;
  AddBystanders(cast);
  std::packaged_task<void()> other([] { SleepMs(kFreezeMs); });
  cast.Add("bystander", [&other] { other(); });
  cast.Add("culprit", [&task] { task(); });
  future.get();
}

// The reader that is late has a guard.
void ReplaceIndex() {
  static std::shared_mutex index;
  std::atomic<bool> is_read{false};
  Cast cast;
  AddBystanders(cast);
  cast.Add("culprit", [&is_read] {
    std::shared_lock lock(index);
    is_read = true;
    KeepItWaiting();
  });
  while (!is_read) SleepMs(1);
  std::lock_guard lock(index);
}

// The culprit cannot answer: it waits for the lock that the caller holds.
void AwaitAnswerWithLock() {
  static std::mutex held, mutex;
  static std::condition_variable changed;
  static bool has_answer = false;
  Cast cast;
  AddBystanders(cast);
  std::unique_lock outer(held);
  cast.Add("culprit", [] {
    std::lock_guard lock(held);
    std::lock_guard inner(mutex);
    has_answer = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::milliseconds(kFreezeMs), [] { return has_answer; });
  lock.unlock();
  outer.unlock();
}

constexpr Scene kScenes[] = {
    {"condition", "lock", "AwaitNews", Other::kCandidate, AwaitNews},
    {"channel", "lock", "TakeJob", Other::kCandidate, TakeJob},
    {"semaphore", "lock", "TakeTicket", Other::kCandidate, TakeTicket},
    {"eventfd", "lock", "AwaitEvent", Other::kCandidate, AwaitEvent},
    {"own-pipe", "pipe", "ReadOwnPipe", Other::kCandidate, ReadOwnPipe},
    {"atomic", "lock", "AwaitNumber", Other::kCandidate, AwaitNumber},
    {"barrier", "lock", "MeetOthers", Other::kCandidate, MeetOthers},
    {"phase", "lock", "MeetAtPhase", Other::kCandidate, MeetAtPhase},
    {"latch", "lock", "AwaitLast", Other::kCandidate, AwaitLast},
    {"promise", "lock", "AwaitPromise", Other::kCandidate, AwaitPromise},
    {"task", "lock", "AwaitTask", Other::kCandidate, AwaitTask},
    {"readers", "lock", "ReplaceIndex", Other::kCandidate, ReplaceIndex},
    {"held-lock", "lock", "AwaitAnswerWithLock", Other::kCandidate, AwaitAnswerWithLock},
};

}  // namespace

std::span<const Scene> Candidates() { return kScenes; }

}  // namespace scenes
