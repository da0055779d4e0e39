// SPDX-License-Identifier: Apache-2.0
#include "sdk/late/late_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "base/process/loader_walk.h"

namespace lagwatch::sdk {

void LateLibrary::Load() {
  base::RunBetweenForks([](void* self) { static_cast<LateLibrary*>(self)->LoadNow(); }, this);
}

// Two threads at once find the same.
void LateLibrary::LoadNow() {
  // All symbols are bound now: later, that may need the loader's lock, which the program may hold.
  void* library = dlopen(file_, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NoteError();
  for (size_t i = 0; i < count_; ++i) {
    void* function = dlsym(library, names_[i]);
    if (function == nullptr) return NoteError();
    functions_[i].store(function, std::memory_order_relaxed);
  }
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
