// SPDX-License-Identifier: Apache-2.0
// A thread of lagwatch inside the watched program: it has a name, takes none of the program's signals, has
// its own descriptor table, and can be given up when it hangs.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "base/process/mapped_memory.h"
#include "base/process/sleeper.h"
#include "base/status.h"

namespace lagwatch::base {

// The descriptor table, root, working directory and umask of a thread: shared or its own.
enum class ThreadFiles : uint8_t {
  kOwn,      // its own: an empty table, and copies of the rest, which the program does not change any more
  kProgram,  // the program's: for threads that call the program's functions
};

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

  // Runs `run(context)` on a new thread, named at most 15 characters. With kOwn, returns when the thread has
  // left the program's files (see HasOwnFiles()), after one second at the latest. Context: background.
  Status Start(const char* name, size_t stack_bytes, void (*run)(void*), void* context,
               ThreadFiles files = ThreadFiles::kOwn);
  bool is_running() const { return is_running_; }
  // Joins the thread, which must have been asked to end. Returns false if it did not end in time: then this
  // object and everything that the thread uses must be leaked. True if none was started. Context: background.
  [[nodiscard]] bool TryJoin(int64_t timeout_ns);
  // As TryJoin(), for a process that ends: returns once the thread cannot hold up the process's end any more,
  // and leaves its stack alone. Context: background.
  bool AwaitEnd(int64_t timeout_ns);

 private:
  static void* Run(void* self);

  const char* name_ = nullptr;
  void (*run_)(void*) = nullptr;
  void* context_ = nullptr;
  ThreadFiles files_ = ThreadFiles::kOwn;
  std::atomic<bool> is_set_up_{false};
  // Of the thread's own, because the C library's would be locked and filled under mlockall(MCL_FUTURE); the
  // lowest page is a guard. Freed once the thread is joined.
  MappedBlock<char> stack_;
  std::atomic<bool> has_ended_{false};
  Sleeper starter_;
  Sleeper joiner_;
  bool is_running_ = false;
  pthread_t thread_{};
};

// Whether the calling thread has its own descriptor table. The program neither sees the thread's descriptors
// nor closes them by mistake, a fork()ed child does not inherit them, and they are closed when the thread
// ends; only that thread may use and close them. False in the program's threads, and in all threads where the
// system does not support it (or under ThreadSanitizer, which assumes one table for all threads). Context:
// any but signals.
bool HasOwnFiles();

// Runs `run(context)` with its own descriptor table: on the calling thread when that has one or the system
// has none for single threads, else on a thread that lasts for the call. False when there is no thread; then
// it did not run. Not a cancellation point. Context: background.
[[nodiscard]] bool RunWithOwnFiles(void (*run)(void*), void* context);

// The same for a function object. Its exceptions are the caller's.
template <typename Function>
[[nodiscard]] bool RunWithOwnFiles(const Function& function) {
  struct Call {
    const Function* function;
#if defined(__cpp_exceptions)
    std::exception_ptr error = nullptr;
#endif
  } call{&function};
  const bool has_run = RunWithOwnFiles(
      [](void* context) {
        auto* called = static_cast<Call*>(context);
#if defined(__cpp_exceptions)
        try {
          (*called->function)();
        } catch (...) {
          called->error = std::current_exception();
        }
#else
        (*called->function)();
#endif
      },
      &call);
#if defined(__cpp_exceptions)
  if (call.error != nullptr) std::rethrow_exception(call.error);
#endif
  return has_run;
}

namespace internal {
extern const bool kThreadsCanHaveOwnFiles;
// Gives the calling thread files of its own; returns whether these include a descriptor table.
bool LeaveProgramFiles();
}  // namespace internal

// Gives the calling thread an empty descriptor table by unshare(2), as before Linux 5.9. False when
// the system refuses.
bool LeaveFileTableByUnshareForTest();

}  // namespace lagwatch::base
