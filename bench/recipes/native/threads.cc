// SPDX-License-Identifier: Apache-2.0
// Waits for another thread that can be known for sure: it owns a lock, runs an initializer, or is joined.
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <future>
#include <mutex>
#include <shared_mutex>

#include "scene.h"

namespace scenes {
namespace {

// Lets the culprit take what the calling thread will wait for.
class Turn {
 public:
  void Give() { is_given_ = true; }
  void Await() const {
    while (!is_given_) SleepMs(1);
  }

 private:
  std::atomic<bool> is_given_{false};
};

// The culprit locks by `lock` and keeps it; then the caller does.
template <typename Lock, typename Unlock>
void Contend(Cast& cast, Turn& turn, Lock lock, Unlock unlock) {
  cast.Add("culprit", [&turn, lock, unlock] {
    lock();
    turn.Give();
    KeepItWaiting();
    unlock();
  });
  cast.Add("bystander", [] { SleepMs(kFreezeMs / 2); });
  turn.Await();
}

void SaveAccount() {
  static std::mutex mutex;
  Turn turn;
  Cast cast;
  Contend(
      cast, turn, [] { mutex.lock(); }, [] { mutex.unlock(); });
  std::lock_guard lock(mutex);
}

void SaveAccountAgain() {
  static std::recursive_mutex mutex;
  Turn turn;
  Cast cast;
  Contend(
      cast, turn, [] { mutex.lock(); }, [] { mutex.unlock(); });
  std::lock_guard lock(mutex);
}

void TrySaveAccount() {
  static std::timed_mutex mutex;
  Turn turn;
  Cast cast;
  Contend(
      cast, turn, [] { mutex.lock(); }, [] { mutex.unlock(); });
  if (mutex.try_lock_for(std::chrono::seconds(20))) mutex.unlock();
}

void ReadCatalog() {
  static std::shared_mutex mutex;
  Turn turn;
  Cast cast;
  Contend(
      cast, turn, [] { mutex.lock(); }, [] { mutex.unlock(); });
  std::shared_lock lock(mutex);
}

void WriteCatalog() {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  Turn turn;
  Cast cast;
  Contend(
      cast, turn, [] { pthread_rwlock_wrlock(&lock); }, [] { pthread_rwlock_unlock(&lock); });
  pthread_rwlock_wrlock(&lock);
  pthread_rwlock_unlock(&lock);
}

pthread_mutex_t MutexOf(void (*prepare)(pthread_mutexattr_t*)) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  prepare(&attributes);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &attributes);
  return mutex;
}

void PlayAudio() {
  static pthread_mutex_t mutex =
      MutexOf([](pthread_mutexattr_t* of) { pthread_mutexattr_setprotocol(of, PTHREAD_PRIO_INHERIT); });
  Turn turn;
  Cast cast;
  Contend(
      cast, turn, [] { pthread_mutex_lock(&mutex); }, [] { pthread_mutex_unlock(&mutex); });
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

void OpenStore() {
  static pthread_mutex_t mutex =
      MutexOf([](pthread_mutexattr_t* of) { pthread_mutexattr_setrobust(of, PTHREAD_MUTEX_ROBUST); });
  Turn turn;
  Cast cast;
  Contend(
      cast, turn, [] { pthread_mutex_lock(&mutex); }, [] { pthread_mutex_unlock(&mutex); });
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

void PrintLine() {
  static FILE* file = std::fopen("/dev/null", "w");
  Turn turn;
  Cast cast;
  Contend(
      cast, turn, [] { flockfile(file); }, [] { funlockfile(file); });
  std::fputs("line\n", file);
}

Turn g_initializing;

void LoadPlugins() {
  static std::once_flag once;
  auto load = [] {
    g_initializing.Give();
    KeepItWaiting();
  };
  Cast cast;
  cast.Add("culprit", [load] { std::call_once(once, load); });
  g_initializing.Await();
  std::call_once(once, load);
}

void LoadFonts() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  void (*load)() = [] {
    g_initializing.Give();
    KeepItWaiting();
  };
  Cast cast;
  cast.Add("culprit", [load] { pthread_once(&once, load); });
  g_initializing.Await();
  pthread_once(&once, load);
}

int ReadSettings() {
  g_initializing.Give();
  KeepItWaiting();
  return 7;
}

[[gnu::noinline]] int Settings() {
  static const int settings = ReadSettings();
  return settings;
}

void ApplySettings() {
  Cast cast;
  cast.Add("culprit", [] { Settings(); });
  g_initializing.Await();
  Settings();
}

void EndWorker() {
  std::thread worker([] {
    prctl(PR_SET_NAME, "culprit");
    KeepItWaiting();
  });
  worker.join();
}

void AwaitResult() {
  std::future<void> result = std::async(std::launch::async, [] {
    prctl(PR_SET_NAME, "culprit");
    KeepItWaiting();
  });
  result.get();
}

void LendAndBorrow() {
  static std::mutex lent, borrowed;
  Turn turn;
  std::lock_guard first(lent);
  std::thread([&turn] {
    std::lock_guard second(borrowed);
    turn.Give();
    std::lock_guard again(lent);
  }).detach();
  turn.Await();
  std::lock_guard second(borrowed);
}

void LendDuringInitialization() {
  static std::mutex mutex;
  static std::once_flag once;
  Turn turn;
  std::lock_guard first(mutex);
  std::thread([&turn] {
    std::call_once(once, [&turn] {
      turn.Give();
      std::lock_guard again(mutex);
    });
  }).detach();
  turn.Await();
  std::call_once(once, [] {});
}

constexpr Scene kScenes[] = {
    {"mutex", "lock", "SaveAccount", Other::kOwner, SaveAccount},
    {"recursive-mutex", "lock", "SaveAccountAgain", Other::kOwner, SaveAccountAgain},
    {"timed-mutex", "lock", "TrySaveAccount", Other::kOwner, TrySaveAccount},
    {"shared-mutex", "lock", "ReadCatalog", Other::kOwner, ReadCatalog},
    {"rwlock", "lock", "WriteCatalog", Other::kOwner, WriteCatalog},
    {"inheriting-mutex", "lock", "PlayAudio", Other::kOwner, PlayAudio},
    {"robust-mutex", "lock", "OpenStore", Other::kOwner, OpenStore},
    {"stream", "lock", "PrintLine", Other::kOwner, PrintLine},
    {"call-once", "lock", "LoadPlugins", Other::kOwner, LoadPlugins},
    {"pthread-once", "lock", "LoadFonts", Other::kOwner, LoadFonts},
    {"static", "lock", "ApplySettings", Other::kOwner, ApplySettings},
    {"join", "lock", "EndWorker", Other::kOwner, EndWorker},
    {"async", "lock", "AwaitResult", Other::kOwner, AwaitResult},
    {"deadlock", "deadlock", "LendAndBorrow", Other::kDeadlock, LendAndBorrow},
    {"deadlock-once", "deadlock", "LendDuringInitialization", Other::kDeadlock, LendDuringInitialization},
};

}  // namespace

std::span<const Scene> Threads() { return kScenes; }

}  // namespace scenes
