// SPDX-License-Identifier: Apache-2.0
// Real stalls: each keeps the calling thread in one kind of trouble until a stop is requested.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace lagwatch::testing {

using StopFlag = std::atomic<bool>;

// Reads it without calling a function, not even a sanitizer's, so that a loop over it has one stack only.
#define LAGWATCH_ONE_STACK [[gnu::noinline, gnu::no_sanitize_thread, gnu::no_sanitize_address]]
#define LAGWATCH_IS_SET(flag) __atomic_load_n(reinterpret_cast<const bool*>(&(flag)), __ATOMIC_RELAXED)
static_assert(sizeof(StopFlag) == sizeof(bool));

// Burns CPU in a function of its own.
void Spin(const StopFlag& stop);
// Waits for a mutex that another thread holds until `stop`.
void WaitForLock(const StopFlag& stop);
// Sleeps in one long nanosleep, which a signal handler would cut short; returns early only then, and on
// `stop` ends after the sleep. `interrupted` says whether it was cut short.
void SleepInOneCall(const StopFlag& stop, int64_t duration_ms, std::atomic<bool>* interrupted);
// Waits in one long poll of nothing, likewise.
void PollInOneCall(const StopFlag& stop, int64_t duration_ms, std::atomic<bool>* interrupted);
// Writes and fsyncs a file again and again.
void SyncFile(const StopFlag& stop, const std::string& path);
// Takes page faults in fresh memory again and again.
void FaultPages(const StopFlag& stop);

// A thread in a stall, called through two functions of this file that any full stack of it must show.
class StalledThread {
 public:
  // Returns once the stall has begun. `stall` must end soon after its flag is set.
  explicit StalledThread(std::function<void(const StopFlag&)> stall);
  ~StalledThread();

  int tid() const { return tid_; }

 private:
  StopFlag stop_{false};
  std::atomic<int> tid_{0};
  std::thread thread_;
};

// The functions that a StalledThread's stack shows, from the inside out.
void StallInner(const std::function<void(const StopFlag&)>& stall, const StopFlag& stop);
void StallOuter(const std::function<void(const StopFlag&)>& stall, const StopFlag& stop);

}  // namespace lagwatch::testing
