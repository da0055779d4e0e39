// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "base/loader_walk.h"

namespace lagwatch::base {
namespace {

constexpr timespec kPause{0, 50'000};
constexpr int kMostPauses = 20'000;  // a second

pthread_mutex_t g_walk = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> g_waiting_forks{0};
std::atomic<pid_t> g_forker{0};  // the thread that has it from the beginning of its fork to the end

// Not for ever: a walk may itself wait for a lock that the forking thread has.
void PrepareFork() {
  g_waiting_forks.fetch_add(1);
  for (int i = 0; i < kMostPauses && g_forker.load() != gettid(); ++i) {
    if (pthread_mutex_trylock(&g_walk) == 0)
      g_forker.store(gettid());
    else
      nanosleep(&kPause, nullptr);
  }
  g_waiting_forks.fetch_sub(1);
}

void FinishForkInParent() {
  if (g_forker.load() != gettid()) return;
  g_forker.store(0);
  pthread_mutex_unlock(&g_walk);
}

void FinishForkInChild() {
  g_waiting_forks.store(0);
  g_forker.store(0);
  pthread_mutex_init(&g_walk, nullptr);
}

}  // namespace

void WalkLoadedModules(int (*visit)(dl_phdr_info*, size_t, void*), void* context) {
  static const int registered = pthread_atfork(&PrepareFork, &FinishForkInParent, &FinishForkInChild);
  static_cast<void>(registered);
  for (int i = 0; i < kMostPauses && g_waiting_forks.load() != 0; ++i) nanosleep(&kPause, nullptr);
  pthread_mutex_lock(&g_walk);
  dl_iterate_phdr(visit, context);
  pthread_mutex_unlock(&g_walk);
}

}  // namespace lagwatch::base
