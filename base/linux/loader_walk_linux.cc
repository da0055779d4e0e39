// SPDX-License-Identifier: Apache-2.0
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <ctime>
#include <exception>
#include <new>

#include "base/process/loader_walk.h"
#include "base/process/own_memory.h"

namespace lagwatch::base {
namespace {

constexpr timespec kPause{0, 50'000};
constexpr int kPausesOfAFork = 10'000;   // about a second
constexpr int kPausesOfAWalk = 100'000;  // ten: the fork of a large process takes seconds

struct ForkLock {
  pthread_mutex_t walk;
  std::atomic<int> waiting_forks;
  std::atomic<const char*> forker;  // that has it from the beginning of its fork to the end
};
constinit ForkLock g_copied_lock{PTHREAD_MUTEX_INITIALIZER, 0, nullptr};
// In wiped memory, where there is some: zeros are what a child is to find.
constinit std::atomic<ForkLock*> g_lock{&g_copied_lock};
// Its address is the thread's. Initial-exec: no call and no allocation at the first access.
thread_local char t_mark __attribute__((tls_model("initial-exec")));

// Neither a fork nor a walk waits for ever: each may have a lock that the other waits for.
bool WaitForTheWalk(ForkLock* lock, int most_pauses) {
  for (int i = 0; i < most_pauses; ++i) {
    if (pthread_mutex_trylock(&lock->walk) == 0) return true;
    nanosleep(&kPause, nullptr);
  }
  return false;
}

void PrepareFork() {
  ForkLock* lock = g_lock.load();
  lock->waiting_forks.fetch_add(1);
  if (lock->forker.load() != &t_mark && WaitForTheWalk(lock, kPausesOfAFork)) lock->forker.store(&t_mark);
  lock->waiting_forks.fetch_sub(1);
}

void FinishForkInParent() {
  ForkLock* lock = g_lock.load();
  if (lock->forker.load() != &t_mark) return;
  lock->forker.store(nullptr);
  pthread_mutex_unlock(&lock->walk);
}

void FinishForkInChild() {
  ForkLock* lock = g_lock.load();
  if (lock == &g_copied_lock) new (lock) ForkLock{PTHREAD_MUTEX_INITIALIZER, 0, nullptr};
}

// The first handlers that this library registers, so that they run after the others, which may wait for a
// thread that walks.
[[gnu::constructor(101)]] void RegisterForkHandlers() {
  if (void* wiped = TakeWiped(sizeof(ForkLock)))
    g_lock.store(new (wiped) ForkLock{PTHREAD_MUTEX_INITIALIZER, 0, nullptr});
  pthread_atfork(&PrepareFork, &FinishForkInParent, &FinishForkInChild);
}

struct Walk {
  int (*visit)(dl_phdr_info*, size_t, void*);
  void* context;
  std::exception_ptr thrown;
};

// No exception passes through the loader's frames: another copy of the unwinder may be responsible for them,
// and end the process.
int Visit(dl_phdr_info* info, size_t size, void* context) {
  auto* walk = static_cast<Walk*>(context);
  try {
    return walk->visit(info, size, walk->context);
  } catch (...) {
    walk->thrown = std::current_exception();
    return 1;
  }
}

}  // namespace

void RunBetweenForks(void (*run)(void*), void* context) {
  ForkLock* lock = g_lock.load();
  for (int i = 0; i < kPausesOfAFork && lock->waiting_forks.load() != 0; ++i) nanosleep(&kPause, nullptr);
  const bool is_alone = WaitForTheWalk(lock, kPausesOfAWalk);
  run(context);
  if (is_alone) pthread_mutex_unlock(&lock->walk);
}

void WalkLoadedModules(int (*visit)(dl_phdr_info*, size_t, void*), void* context) {
  Walk walk{visit, context, nullptr};
  RunBetweenForks([](void* it) { dl_iterate_phdr(&Visit, it); }, &walk);
  if (walk.thrown) std::rethrow_exception(walk.thrown);
}

LoaderCounts LoaderCounts::Of(const dl_phdr_info& info) { return {info.dlpi_adds, info.dlpi_subs}; }

LoaderCounts LoaderCounts::Now() {
  LoaderCounts counts;
  const auto visit = [](dl_phdr_info* info, size_t, void* context) {
    *static_cast<LoaderCounts*>(context) = Of(*info);
    return 1;
  };
  WalkLoadedModules(visit, &counts);
  return counts;
}

}  // namespace lagwatch::base
