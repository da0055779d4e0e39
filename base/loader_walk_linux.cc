// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "base/loader_walk.h"

namespace lagwatch::base {
namespace {

constexpr time_t kLongestWaitS = 1;

pthread_mutex_t g_walk = PTHREAD_MUTEX_INITIALIZER;
std::atomic<pid_t> g_forker{0};  // the thread that has it from the beginning of its fork to the end

// A walk may itself wait for a lock that the forking thread has.
void PrepareFork() {
  timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += kLongestWaitS;
  if (pthread_mutex_clocklock(&g_walk, CLOCK_MONOTONIC, &end) == 0) g_forker.store(gettid());
}

void FinishForkInParent() {
  if (g_forker.load() != gettid()) return;
  g_forker.store(0);
  pthread_mutex_unlock(&g_walk);
}

void FinishForkInChild() {
  g_forker.store(0);
  pthread_mutex_init(&g_walk, nullptr);
}

}  // namespace

void WalkLoadedModules(int (*visit)(dl_phdr_info*, size_t, void*), void* context) {
  static const int registered = pthread_atfork(&PrepareFork, &FinishForkInParent, &FinishForkInChild);
  static_cast<void>(registered);
  pthread_mutex_lock(&g_walk);
  dl_iterate_phdr(visit, context);
  pthread_mutex_unlock(&g_walk);
}

}  // namespace lagwatch::base
