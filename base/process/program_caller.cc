// SPDX-License-Identifier: Apache-2.0
#include "base/process/program_caller.h"

#include <new>

#include "base/clock.h"
#include "base/process/own_threads.h"

namespace lagwatch::base {

Result<std::unique_ptr<ProgramCaller>> ProgramCaller::Start(const char* thread_name) {
  constexpr size_t kStackBytes = 1 << 20;  // for functions of the program
  std::unique_ptr<ProgramCaller> caller(new (std::nothrow) ProgramCaller);
  if (caller == nullptr) return Status(StatusCode::kUnavailable, "no memory for the program's callbacks");
  Status started = caller->thread_.Start(
      thread_name, kStackBytes, [](void* self) { static_cast<ProgramCaller*>(self)->Run(); }, caller.get(),
      ThreadFiles::kProgram);
  if (!started.ok()) return started;
  return caller;
}

void ProgramCaller::Call(void (*function)(void*), void* context) {
  function_ = function;
  context_ = context;
  is_called_.store(true);
  called_.Wake();
  while (is_called_.load()) done_.SleepUntil(Sleeper::kForever);
}

bool ProgramCaller::TryCall(void (*function)(void*), void* context, int64_t timeout_ns) {
  if (is_called_.load()) return false;
  function_ = function;
  context_ = context;
  const int64_t end_ns = SystemClock().MonoNs() + timeout_ns;
  is_called_.store(true);
  called_.Wake();
  while (is_called_.load()) {
    if (SystemClock().MonoNs() >= end_ns) return false;
    done_.SleepUntil(end_ns);
  }
  return true;
}

bool ProgramCaller::TryStop(int64_t timeout_ns) {
  is_to_stop_.store(true);
  called_.Wake();
  return thread_.TryJoin(timeout_ns);
}

void ProgramCaller::Run() {
  while (!is_to_stop_.load()) {
    if (!is_called_.load()) {
      called_.SleepUntil(Sleeper::kForever);
      continue;
    }
    {
      const ScopedLentThread lent;
      function_(context_);
    }
    is_called_.store(false);
    done_.Wake();
  }
}

}  // namespace lagwatch::base
