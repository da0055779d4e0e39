// SPDX-License-Identifier: Apache-2.0
// Calls functions of the program for threads of lagwatch that have left the program's descriptor table: on a
// thread which shares that table, so that the functions find the program's descriptors, working directory and
// umask. The thread opens nothing itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "base/status.h"

namespace lagwatch::base {

// Thread safety: Start and TryStop from one thread, Call from one other thread at a time.
class ProgramCaller {
 public:
  // Starts a thread of that name. Must be called by a thread of the program, whose files the new one
  // shares. Context: background.
  static Result<std::unique_ptr<ProgramCaller>> Start(const char* thread_name);
  ProgramCaller(const ProgramCaller&) = delete;
  ProgramCaller& operator=(const ProgramCaller&) = delete;

  // Runs `function(context)` on the thread, and returns when that is done. Context: watchdog (no
  // lock, no allocation).
  void Call(void (*function)(void*), void* context);
  template <typename Function>
  void Call(const Function& function) {
    const Function* place = &function;
    Call([](void* called) { (**static_cast<const Function**>(called))(); }, static_cast<void*>(&place));
  }
  // The same, but waits for `timeout_ns` at most. Returns false if the call is not done by then: it goes on,
  // and no other is made until it is done. `context` must live as long. Context: watchdog.
  [[nodiscard]] bool TryCall(void (*function)(void*), void* context, int64_t timeout_ns);
  // Whether a call that took too long still goes on. For the thread that calls.
  bool is_busy() const { return is_called_.load(); }
  // Ends the thread. False when a call does not return in time: then this object must be
  // leaked. Context: background.
  [[nodiscard]] bool TryStop(int64_t timeout_ns);

 private:
  ProgramCaller() = default;
  void Run();

  void (*function_)(void*) = nullptr;  // ordered by the next one, as is its context
  void* context_ = nullptr;
  std::atomic<bool> is_called_{false};
  std::atomic<bool> is_to_stop_{false};
  Sleeper called_;
  Sleeper done_;
  QuietThread thread_;
};

}  // namespace lagwatch::base
