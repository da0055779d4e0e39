// SPDX-License-Identifier: Apache-2.0
// The definition of a function that follows ours: the C library's own, for a hook in front of it.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cerrno>

namespace lagwatch::sdk {

template <typename Function>
class NextFunction;

// Thread safety: all methods from any thread.
template <typename R, typename... A>
class NextFunction<R(A...)> {
 public:
  using Function = R(A...);

  explicit constexpr NextFunction(const char* name) : name_(name) {}

  // Null in an older C library. The first call looks the function up, and belongs before main(): a later
  // dlsym(3) waits for a thread that loads a library, and is not for signal handlers and children of vfork().
  Function* Find() {
    Function* function = found();
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }
  // Null before Find() was called. Context: signal.
  Function* found() const {
    return function_.load(std::memory_order_relaxed);  // the same value for every thread
  }
  // Calls the function; fails with ENOSYS if there is none.
  R operator()(A... arguments) {
    if (Function* function = Find()) [[likely]]
      return function(arguments...);
    errno = ENOSYS;
    return -1;
  }

 private:
  const char* name_;
  std::atomic<Function*> function_{nullptr};
};

}  // namespace lagwatch::sdk
