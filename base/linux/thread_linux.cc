// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "base/system/thread.h"

namespace lagwatch::base {
namespace {

// The C library has it for such runtimes as Rust's; null in another C library.
size_t (*g_min_stack)(const pthread_attr_t*) = nullptr;

// Before main(): dlsym(3) waits for a thread that loads a library.
[[gnu::constructor]] void FindMinStack() {
  g_min_stack = reinterpret_cast<decltype(g_min_stack)>(dlsym(RTLD_DEFAULT, "__pthread_get_minstack"));
}

}  // namespace

int32_t CurrentThreadId() { return gettid(); }

void NameCurrentThread(const char* name) { pthread_setname_np(pthread_self(), name); }

size_t ThreadLocalBytes() {
  if (g_min_stack == nullptr) return 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const size_t bytes = g_min_stack(&attributes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

}  // namespace lagwatch::base
