// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/system/thread.h"

namespace lagwatch::base {
namespace {

// The C library has it for such runtimes as Rust's; null in another C library.
size_t (*g_min_stack)(const pthread_attr_t*) = nullptr;

// Before main(): dlsym(3) waits for a thread that loads a library.
[[gnu::constructor]] void FindMinStack() {
  g_min_stack = reinterpret_cast<decltype(g_min_stack)>(dlsym(RTLD_DEFAULT, "__pthread_get_minstack"));
}

// The policy of the calling thread's scheduling; SCHED_OTHER if that is not known. Read from a file, because
// a filter that allows our calls does not know sched_getscheduler(2).
int ReadOwnPolicy() {
  constexpr int kPolicyField = 38;  // of proc_pid_stat(5), after the thread's name, which may hold anything
  char buffer[1024];
  std::string_view stat = ReadSmallFile("/proc/thread-self/stat", buffer, sizeof buffer);
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return SCHED_OTHER;
  stat.remove_prefix(name_end + 2);
  for (int field = 0; field < kPolicyField && !stat.empty(); ++field)
    stat.remove_prefix(std::min(stat.find(' '), stat.size() - 1) + 1);
  uint64_t policy = SCHED_OTHER;
  return ConsumeDecimal(&stat, &policy) ? static_cast<int>(policy) : SCHED_OTHER;
}

}  // namespace

int32_t CurrentThreadId() { return gettid(); }

void NameCurrentThread(const char* name) { pthread_setname_np(pthread_self(), name); }

void LeaveRealTime() {
  const int policy = ReadOwnPolicy();
  const sched_param none{};
  if (policy == SCHED_FIFO || policy == SCHED_RR) sched_setscheduler(0, SCHED_OTHER, &none);
}

size_t ThreadLocalBytes() {
  if (g_min_stack == nullptr) return 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const size_t bytes = g_min_stack(&attributes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

}  // namespace lagwatch::base
