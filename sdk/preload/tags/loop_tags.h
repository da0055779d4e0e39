// SPDX-License-Identifier: Apache-2.0
// Tags of the dispatches that are inferred from a thread's waits: the receiver and type of Qt's event, the
// name or function of GLib's source. Of a library that the program has not loaded nothing is looked up,
// called or changed.
#pragma once

#include "sdk/preload/tags/tag_texts.h"
#include "sdk/preload/watch/thread_state.h"

namespace lagwatch::sdk {

extern constinit TagTexts g_tag_texts;

// Whether the thread's dispatches can have tags. Context: hot.
inline bool HasTags(const HookedThread& thread) {
  // Relaxed: the thread itself frees its place.
  return thread.loop != nullptr && !thread.is_busy &&
         thread.loop->generation.load(std::memory_order_relaxed) == thread.generation;
}

// Gives the dispatch under way of a thread that has tags another one; returns the one before, null in no
// dispatch. Context: hot, on that thread.
const char* Rename(const HookedThread& thread, const char* tag);

// A function of a loaded module, by the modules' tables.
struct LoadedFunction {
  void* address = nullptr;
  const char* library = "";      // its name
  uintptr_t writable_begin = 0;  // of its data that stays writable
  uintptr_t writable_end = 0;
};
// Finds the first definition that is not this library's. Takes the loader's lock. Context: background.
LoadedFunction FindLoaded(const char* name);

// Has GLib, if it is loaded, call this library before each source's callback; once per process. Calls
// functions of GLib. Context: background, on a thread of the program's.
void FollowSources();

}  // namespace lagwatch::sdk
