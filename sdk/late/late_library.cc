// SPDX-License-Identifier: Apache-2.0
#include "sdk/late/late_library.h"

#include <dlfcn.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/process/loader_walk.h"

namespace lagwatch::sdk {
namespace {

// A call takes some milliseconds, the first one of libcurl a hundred where the machine is busy.
constexpr int kPausesAtExit = 1'000;
constexpr timespec kPauseAtExit = {.tv_sec = 0, .tv_nsec = 1'000'000};

// All calls and the end of the process have one order, so either a call sees the end or the end sees it.
std::atomic<int> calls_under_way{0};
std::atomic<bool> is_ending{false};
std::atomic<pid_t> loading_pid{0};
std::atomic<void (*)()> clean_up_openssl{nullptr};  // if no other library does

// Runs before the handlers and destructors that libraries had registered when it was registered.
void EndCalls() {
  const bool is_first = !is_ending.exchange(true);
  // The calls of a parent do not end in its child.
  const bool may_wait = is_first && loading_pid.load() == getpid();
  for (int i = 0; may_wait && i < kPausesAtExit && calls_under_way.load() != 0; ++i)
    nanosleep(&kPauseAtExit, nullptr);
  auto* clean_up = clean_up_openssl.load();
  if (clean_up != nullptr && calls_under_way.load() == 0) clean_up();
}

// OpenSSL registers a handler when it is set up, in the midst of a call, so EndCalls() would run after it.
// Where OpenSSL came with us, EndCalls() takes its place; else there probably is one by now.
void SetUpOpenSsl(void* library, bool is_ours) {
  auto* set_up = reinterpret_cast<decltype(&OPENSSL_init_crypto)>(dlsym(library, "OPENSSL_init_crypto"));
  if (set_up == nullptr) return;
  if (is_ours) clean_up_openssl.store(reinterpret_cast<void (*)()>(dlsym(library, "OPENSSL_cleanup")));
  // The ciphers are the cheapest part of what libcurl sets up: asked for nothing, OpenSSL does nothing.
  set_up(OPENSSL_INIT_ADD_ALL_CIPHERS | (is_ours ? OPENSSL_INIT_NO_ATEXIT : 0), nullptr);
}

bool HasOpenSsl() {
  void* library = dlopen(kOpenSslFile, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

}  // namespace

LateCall::LateCall(CallLength kind)
    : is_counted_(kind == CallLength::kShort),
      may_call_((!is_counted_ || calls_under_way.fetch_add(1) >= 0) && !is_ending.load()) {}

LateCall::~LateCall() {
  if (is_counted_) calls_under_way.fetch_sub(1);
}

void LateLibrary::Load() {
  base::RunBetweenForks([](void* self) { static_cast<LateLibrary*>(self)->LoadNow(); }, this);
}

// Two threads at once find the same.
void LateLibrary::LoadNow() {
  if (loading_pid.exchange(getpid()) == 0) std::atexit(&EndCalls);
  const bool has_openssl = HasOpenSsl();
  // All symbols are bound now: later, that may need the loader's lock, which the program may hold.
  void* library = dlopen(file_, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NoteError();
  for (size_t i = 0; i < count_; ++i) {
    void* function = dlsym(library, names_[i]);
    if (function == nullptr) return NoteError();
    functions_[i].store(function, std::memory_order_relaxed);
  }
  SetUpOpenSsl(library, !has_openssl);
  std::atexit(&EndCalls);
  is_loaded_.store(true, std::memory_order_release);  // publishes the functions
}

void LateLibrary::NoteError() {
  if (error_.load(std::memory_order_acquire) != nullptr) return;
  const char* text = dlerror();
  char* kept = text == nullptr ? nullptr : strdup(text);  // for ever: callers may keep it
  const char* none = nullptr;
  const bool is_first = error_.compare_exchange_strong(none, kept != nullptr ? kept : "out of memory");
  if (!is_first) std::free(kept);
}

}  // namespace lagwatch::sdk
