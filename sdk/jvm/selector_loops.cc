// SPDX-License-Identifier: Apache-2.0

#include <lagwatch/c.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <mutex>

#include "sdk/jvm/loop_dispatch.h"

namespace lagwatch::sdk::jvm {
namespace {

constexpr char kTag[] = "selected";
constexpr int64_t kLongWaitNs = 1'000'000;
constexpr int kFewestLongWaits = 3;  // that make a loop
constexpr int kMostLooks = 1000;     // at a thread whose waits are all short, or at several selectors
constexpr uint32_t kForeverMs = 3'600'000;

struct SelectorThread {
  LoopDispatch dispatch;
  int selector = -1;  // its descriptor; that of the loop, if there is one
  int long_waits = 0;
  int looks = 0;
};
thread_local SelectorThread t_selector __attribute__((tls_model("initial-exec")));

// The threads that wait at each descriptor. Two descriptors of one place count as a selector that is shared.
struct Selector {
  std::atomic<int> descriptor{-1};
  std::atomic<SelectorThread*> thread{nullptr};
  std::atomic<bool> is_shared{false};
};
std::array<Selector, 4096> g_selectors;
std::mutex g_leaving;  // held while another thread's loop is used, and while a thread leaves its own

jvmtiEnv* g_names = nullptr;  // for names of threads
std::atomic<EpollWaitFunction> g_epoll_wait{nullptr};

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

Selector& SelectorOf(int descriptor) {
  return g_selectors[static_cast<uint32_t>(descriptor) % g_selectors.size()];
}

void Leave(SelectorThread* thread) {
  const std::lock_guard lock(g_leaving);
  thread->dispatch.Leave();
}

// Notes that the calling thread waits there. False if others do, too.
bool IsOwn(Selector* selector, int descriptor, SelectorThread* self) {
  if (selector->is_shared.load()) return false;
  SelectorThread* const owner = selector->thread.load();
  if (owner == self && selector->descriptor.load() == descriptor) return true;
  if (owner == nullptr) {
    SelectorThread* none = nullptr;
    if (selector->thread.compare_exchange_strong(none, self)) {
      selector->descriptor.store(descriptor);
      return true;
    }
  }
  const std::lock_guard lock(g_leaving);
  selector->is_shared.store(true);
  // The other one's dispatch is none of a loop.
  SelectorThread* const other = selector->thread.load();
  if (other != nullptr && other != self) lw_set_thresholds(other->dispatch.loop, kForeverMs, kForeverMs);
  return false;
}

void WatchThread(SelectorThread* self) {
  jvmtiThreadInfo info{};
  if (g_names->GetThreadInfo(nullptr, &info) != JVMTI_ERROR_NONE) return;
  self->dispatch.loop = lw_watch_loop(info.name == nullptr ? "selector" : info.name);
  g_names->Deallocate(reinterpret_cast<unsigned char*>(info.name));
}

jint WaitAsCandidate(SelectorThread* self, EpollWaitFunction wait, JNIEnv* jni, jclass type, jint descriptor,
                     jlong events, jint count, jint timeout) {
  if (self->looks >= kMostLooks || !IsOwn(&SelectorOf(descriptor), descriptor, self))
    return wait(jni, type, descriptor, events, count, timeout);
  const int64_t begin_ns = NowNs();
  const jint result = wait(jni, type, descriptor, events, count, timeout);
  const bool is_long = NowNs() - begin_ns >= kLongWaitNs;
  ++self->looks;
  if (self->selector != descriptor) self->long_waits = 0;
  self->selector = descriptor;
  self->long_waits += is_long ? 1 : 0;
  if (self->long_waits < kFewestLongWaits || SelectorOf(descriptor).is_shared.load()) return result;
  WatchThread(self);
  if (self->dispatch.loop != nullptr) self->dispatch.Begin(kTag);
  return result;
}

jint JNICALL EpollWait(JNIEnv* jni, jclass type, jint descriptor, jlong events, jint count, jint timeout) {
  const EpollWaitFunction wait = g_epoll_wait.load(std::memory_order_relaxed);  // set before the first call
  SelectorThread& self = t_selector;
  if (self.dispatch.loop == nullptr)
    return WaitAsCandidate(&self, wait, jni, type, descriptor, events, count, timeout);
  if (descriptor != self.selector) return wait(jni, type, descriptor, events, count, timeout);
  if (!IsOwn(&SelectorOf(descriptor), descriptor, &self)) {
    Leave(&self);
    return wait(jni, type, descriptor, events, count, timeout);
  }
  self.dispatch.End();
  const jint result = wait(jni, type, descriptor, events, count, timeout);
  self.dispatch.Begin(kTag);
  return result;
}

}  // namespace

EpollWaitFunction TakeEpollWait(jvmtiEnv* jvmti, EpollWaitFunction own) {
  g_names = jvmti;
  g_epoll_wait.store(own);
  return &EpollWait;
}

void LeaveSelectorLoop() {
  SelectorThread& self = t_selector;
  if (self.selector < 0) return;
  const std::lock_guard lock(g_leaving);
  if (self.dispatch.loop != nullptr) self.dispatch.Leave();
  Selector& selector = SelectorOf(self.selector);
  SelectorThread* own = &self;
  selector.thread.compare_exchange_strong(own, nullptr);
  self = {};
}

}  // namespace lagwatch::sdk::jvm
