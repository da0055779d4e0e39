// SPDX-License-Identifier: Apache-2.0
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <ctime>
#include <exception>

#include "base/process/loader_walk.h"

namespace lagwatch::base {
namespace {

constexpr timespec kPause{0, 50'000};
constexpr int kPausesOfAFork = 10'000;   // about a second
constexpr int kPausesOfAWalk = 100'000;  // ten: the fork of a large process takes seconds

pthread_mutex_t g_walk = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> g_waiting_forks{0};
// Its address is the thread's. Initial-exec: no call and no allocation at the first access.
thread_local char t_mark __attribute__((tls_model("initial-exec")));
std::atomic<const char*> g_forker{nullptr};  // that has it from the beginning of its fork to the end

// Neither a fork nor a walk waits for ever: each may have a lock that the other waits for.
bool WaitForTheWalk(int most_pauses) {
  for (int i = 0; i < most_pauses; ++i) {
    if (pthread_mutex_trylock(&g_walk) == 0) return true;
    nanosleep(&kPause, nullptr);
  }
  return false;
}

void PrepareFork() {
  g_waiting_forks.fetch_add(1);
  if (g_forker.load() != &t_mark && WaitForTheWalk(kPausesOfAFork)) g_forker.store(&t_mark);
  g_waiting_forks.fetch_sub(1);
}

void FinishForkInParent() {
  if (g_forker.load() != &t_mark) return;
  g_forker.store(nullptr);
  pthread_mutex_unlock(&g_walk);
}

void FinishForkInChild() {
  g_waiting_forks.store(0);
  g_forker.store(nullptr);
  pthread_mutex_init(&g_walk, nullptr);
}

// The first handlers that this library registers, so that they run after the others, which may wait for a
// thread that walks.
[[gnu::constructor(101)]] void RegisterForkHandlers() {
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
  for (int i = 0; i < kPausesOfAFork && g_waiting_forks.load() != 0; ++i) nanosleep(&kPause, nullptr);
  const bool is_alone = WaitForTheWalk(kPausesOfAWalk);
  run(context);
  if (is_alone) pthread_mutex_unlock(&g_walk);
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
