// SPDX-License-Identifier: Apache-2.0
// A shared library that is loaded when one of its functions is called for the first time.
//
// liblagwatch.so needs libcurl and OpenSSL only to send reports, to seal them and to check a signed config.
// As libraries that it is linked with they would be loaded with every program that links it, with some 40
// libraries that they need: 7 ms of each start (docs/design/start.md). So liblagwatch.so has functions of the
// same names, hidden in it, which forward to those of the library. Code that calls them is the same with
// either; a static library or a program links the real ones. curl_calls.cc and crypto_calls.cc have the
// functions.
//
// At exit(), these libraries' own handlers and destructors free what their functions use, while the thread
// that sends may be in one of them. liblagwatch.so has a handler that runs before those: it lets no further
// call begin, and waits for the calls under way.
#pragma once

#include <openssl/opensslv.h>

#include <atomic>
#include <cstddef>

namespace lagwatch::sdk {

#define LAGWATCH_LATE_TEXT(number) #number
#define LAGWATCH_LATE_FILE(number) "libcrypto.so." LAGWATCH_LATE_TEXT(number)
inline constexpr char kOpenSslFile[] = LAGWATCH_LATE_FILE(OPENSSL_SHLIB_VERSION);

// A call of a late library, for as long as this lives. False when the process is ending: then there must be
// none. Thread-safe; wait-free.
class LateCall {
 public:
  // The end of the process does not wait for a call that only waits.
  enum class CallLength { kShort, kWaitsOnly };

  explicit LateCall(CallLength length = CallLength::kShort);
  LateCall(const LateCall&) = delete;
  LateCall& operator=(const LateCall&) = delete;
  ~LateCall();

  explicit operator bool() const { return may_call_; }

 private:
  bool Begin() const;

  const bool is_counted_;
  const bool may_call_;
};

// Thread-safe. Needs no constructor to run, and is never destroyed.
class LateLibrary {
 public:
  // `names` and `functions`, which has room for as many, are borrowed for ever.
  constexpr LateLibrary(const char* file, const char* const* names, std::atomic<void*>* functions,
                        size_t count)
      : file_(file), names_(names), functions_(functions), count_(count) {}

  // The function at this index; null if the library cannot be loaded or lacks one of the functions, which is
  // tried again at each call. After the first success: context any, no lock. Else background.
  template <typename Function>
  Function* Get(size_t index) {
    if (!is_loaded_.load(std::memory_order_acquire)) Load();  // pairs with the release in Load()
    return reinterpret_cast<Function*>(functions_[index].load(std::memory_order_relaxed));
  }
  // The reason of the first failure to load it; null if there was none.
  const char* error() const { return error_.load(std::memory_order_acquire); }

 private:
  void Load();
  void LoadNow();
  void NoteError();

  const char* const file_;
  const char* const* const names_;
  std::atomic<void*>* const functions_;
  const size_t count_;
  std::atomic<bool> is_loaded_{false};
  std::atomic<const char*> error_{nullptr};
};

// Defines the forwarding functions. CALLS is a macro that calls its argument with (result, name,
// (parameters), (arguments), value if the library cannot be loaded) for each of them.
#define LAGWATCH_LATE_INDEX(result, name, parameters, arguments, otherwise) k_##name,
#define LAGWATCH_LATE_NAME(result, name, parameters, arguments, otherwise) #name,
#define LAGWATCH_LATE_CALL(result, name, parameters, arguments, otherwise)          \
  result name parameters {                                                          \
    const lagwatch::sdk::LateCall call;                                             \
    if (!call) return otherwise;                                                    \
    auto* function = library.Get<result parameters>(static_cast<size_t>(k_##name)); \
    return function != nullptr ? function arguments : otherwise;                    \
  }
#define LAGWATCH_LATE_LIBRARY(file, CALLS)                      \
  enum Function { CALLS(LAGWATCH_LATE_INDEX) kCount };          \
  constexpr const char* kNames[] = {CALLS(LAGWATCH_LATE_NAME)}; \
  constinit std::atomic<void*> functions[kCount];               \
  constinit LateLibrary library(file, kNames, functions, kCount)

}  // namespace lagwatch::sdk
