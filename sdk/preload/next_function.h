// SPDX-License-Identifier: Apache-2.0
// The definition of a function that follows ours: the C library's own, for a hook in front of it.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace lagwatch::sdk {

// Finds the next definition of `name` after this library's in the tables of the loaded modules, without the
// loader: no lock, no allocation. For the time before this library's constructors, when no module comes or
// goes. Null if there is none. Context: signal.
void* FindNextInTables(const char* name);
// Whether another module than this library defines that function. Context: constructors of this library.
bool HasOtherDefinition(const char* name);

enum class FunctionAge : uint8_t {
  kOld,
  kRecent,  // it is not in each C library that this one is loaded beside
};

template <typename Function>
class NextFunction;

// A hook works at any time: before the constructors of this library, which run after those of the program's
// other libraries, it finds the function by FindNextInTables().
//
// Thread safety: all methods from any thread.
template <typename R, typename... A>
class NextFunction<R(A...)> {
 public:
  using Function = R(A...);

  explicit constexpr NextFunction(const char* name, FunctionAge age = FunctionAge::kOld)
      : name_(name), age_(age) {}

  // To be called in this library's constructor: a later dlsym(3) waits for a thread that loads a library, and
  // is not for signal handlers and children of vfork().
  void Find() {
    // A dlsym(3) that fails makes a message by the program's malloc(), and the next one frees it: a free()
    // that looks for the C library's own by dlsym(3) would call itself without an end.
    if (age_ == FunctionAge::kOld || HasOtherDefinition(name_))
      function_.store(reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_)), std::memory_order_relaxed);
    is_known_.store(true, std::memory_order_release);  // pairs with get()
  }
  // Null in an older C library. Context: signal.
  Function* get() const {
    Function* function = function_.load(std::memory_order_relaxed);  // the same value for every thread
    if (function != nullptr) [[likely]]
      return function;
    // Acquire: null is final then.
    if (is_known_.load(std::memory_order_acquire)) return function_.load(std::memory_order_relaxed);
    return reinterpret_cast<Function*>(FindNextInTables(name_));
  }
  // Calls the function; fails with ENOSYS if there is none. Context: signal.
  R operator()(A... arguments) const {
    if (Function* function = get()) [[likely]]
      return function(arguments...);
    errno = ENOSYS;
    return -1;
  }
  const char* name() const { return name_; }

 private:
  const char* name_;
  FunctionAge age_;
  std::atomic<Function*> function_{nullptr};
  std::atomic<bool> is_known_{false};
};

// Finds all of them. To be called in this library's constructor.
template <typename... Functions>
void FindAll(NextFunction<Functions>&... functions) {
  (functions.Find(), ...);
}

}  // namespace lagwatch::sdk
