// SPDX-License-Identifier: Apache-2.0
// A thread of lagwatch's own inside somebody else's program: it has a name, takes none of the program's
// signals, and can be given up on when it hangs.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/mapped_memory.h"
#include "base/status.h"

namespace lagwatch::base {

// Thread safety: one thread starts and joins.
class QuietThread {
 public:
  QuietThread() = default;
  // A thread that still runs keeps its stack.
  ~QuietThread() {
    if (is_running_) static_cast<void>(stack_.release());
  }
  QuietThread(const QuietThread&) = delete;
  QuietThread& operator=(const QuietThread&) = delete;

  // Runs `run(context)` on a new thread, named at most 15 characters. Context: background.
  Status Start(const char* name, size_t stack_bytes, void (*run)(void*), void* context);
  bool is_running() const { return is_running_; }
  // Joins the thread, which must have been told to end. False when it did not end in time: then this object
  // and all that the thread uses must be leaked. True when none was started. Context: background.
  [[nodiscard]] bool TryJoin(int64_t timeout_ns);

 private:
  static void* Run(void* self);

  const char* name_ = nullptr;
  void (*run_)(void*) = nullptr;
  void* context_ = nullptr;
  // Of the thread's own, because the C library's would be locked and filled under mlockall(MCL_FUTURE); the
  // lowest page is a guard. Freed once the thread is joined.
  MappedBlock<char> stack_;
  std::atomic<bool> has_ended_{false};
  bool is_running_ = false;
  pthread_t thread_{};
};

// Gives the calling thread, one of ours, a table of descriptors of its own, which is empty: the program
// neither sees what the thread opens nor closes it by mistake, and a fork()ed child inherits none of it. Nor
// can the thread use what others opened. False where the system cannot do that (Linux before 5.9). Context:
// background.
bool LeaveFileTable();

}  // namespace lagwatch::base
