// SPDX-License-Identifier: Apache-2.0
#include "sdk/late/late_library.h"

#include <dlfcn.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/process/loader_walk.h"
#include "base/system/seccomp.h"

namespace lagwatch::sdk {
namespace {

// A call takes some milliseconds, the first one of libcurl a hundred where the machine is busy.
constexpr int kPausesAtExit = 1'000;
constexpr timespec kPauseAtExit = {.tv_sec = 0, .tv_nsec = 1'000'000};

// The process id in the upper half, the number of its calls in the lower one: a child does not have those of
// its parent's threads.
std::atomic<uint64_t> calls_under_way{0};
// Calls and the end of the process have one order, so either a call sees the end or the end sees it.
std::atomic<bool> is_ending{false};
std::atomic<pid_t> cleaning_pid{0};  // that OpenSSL came into with us
std::atomic<void (*)()> clean_up_openssl{nullptr};

uint64_t ThisProcess() { return uint64_t{static_cast<uint32_t>(getpid())} << 32; }
bool IsOf(uint64_t calls, uint64_t process) { return calls >> 32 == process >> 32; }

bool HasCalls(uint64_t process) {
  const uint64_t calls = calls_under_way.load();
  return IsOf(calls, process) && calls != process;
}

// From then on no call begins, and none is under way. Where the program confines itself, it has ended.
void EndCalls() {
  if (calls_under_way.load() == 0 || is_ending.exchange(true) || base::IsConfined()) return;
  const uint64_t process = ThisProcess();
  for (int i = 0; i < kPausesAtExit && HasCalls(process); ++i) nanosleep(&kPauseAtExit, nullptr);
}

// Handlers run in the reverse order of their registration. This one is registered before the program's own
// objects are made, so what they still send or seal in their destructors is sent and sealed.
void EndWithProgram() {
  EndCalls();
  auto* clean_up = clean_up_openssl.load();
  if (clean_up != nullptr && cleaning_pid.load() == getpid() && !HasCalls(ThisProcess())) clean_up();
}
[[gnu::constructor]] void RegisterEnd() { std::atexit(&EndWithProgram); }

// The files of OpenSSL's versions.
constexpr const char* kOpenSslFiles[] = {kOpenSslFile, "libcrypto.so.3", "libcrypto.so.1.1"};

bool HasOpenSsl() {
  return std::ranges::any_of(kOpenSslFiles, [](const char* file) {
    void* library = dlopen(file, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) dlclose(library);
    return library != nullptr;
  });
}

// OpenSSL registers a handler when it is set up, in the midst of a call; that one would run too early. Where
// OpenSSL came with us, it registers none, and ours takes its place. The program's own OpenSSL probably has
// one by now: calls end before it, because it frees what they use.
void SetUpOpenSsl(void* library, bool is_ours) {
  if (!is_ours) {
    std::atexit(&EndCalls);
    return;
  }
  auto* set_up = reinterpret_cast<decltype(&OPENSSL_init_crypto)>(dlsym(library, "OPENSSL_init_crypto"));
  if (set_up == nullptr) return;
  clean_up_openssl.store(reinterpret_cast<void (*)()>(dlsym(library, "OPENSSL_cleanup")));
  cleaning_pid.store(getpid());
  // The ciphers are the cheapest part of what libcurl sets up: asked for nothing, OpenSSL does nothing.
  set_up(OPENSSL_INIT_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ATEXIT, nullptr);
}

}  // namespace

LateCall::LateCall(CallLength length) : is_counted_(length == CallLength::kShort), may_call_(Begin()) {}

bool LateCall::Begin() const {
  const uint64_t process = ThisProcess();
  uint64_t calls = calls_under_way.load();
  while (is_counted_ &&
         !calls_under_way.compare_exchange_weak(calls, IsOf(calls, process) ? calls + 1 : process + 1)) {
  }
  return !is_ending.load();
}

LateCall::~LateCall() {
  if (is_counted_) calls_under_way.fetch_sub(1);
}

void LateLibrary::Load() {
  base::RunBetweenForks([](void* self) { static_cast<LateLibrary*>(self)->LoadNow(); }, this);
}

// Two threads at once find the same.
void LateLibrary::LoadNow() {
  const bool has_openssl = clean_up_openssl.load() == nullptr && HasOpenSsl();
  // All symbols are bound now: later, that may need the loader's lock, which the program may hold.
  void* library = dlopen(file_, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NoteError();
  for (size_t i = 0; i < count_; ++i) {
    void* function = dlsym(library, names_[i]);
    if (function == nullptr) return NoteError();
    functions_[i].store(function, std::memory_order_relaxed);
  }
  SetUpOpenSsl(library, !has_openssl);
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
