// SPDX-License-Identifier: Apache-2.0
// Sources of GLib that have a callback: it calls `get` of one table, which they share, right before it
// dispatches one. Compiled without exceptions: see thread_waits.cc.
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "base/ticks.h"
#include "sdk/preload/tags/loop_tags.h"
#include "watchdog/loops/dispatch_tag.h"

namespace lagwatch::sdk {
namespace {

struct Source;
using Getter = void(void* data, Source* source, void** function, void** user_data);

// The beginnings of GSourceCallbackFuncs and GSource, which are part of GLib's ABI.
struct CallbackFunctions {
  void (*ref)(void* data);
  void (*unref)(void* data);
  Getter* get;
};
struct Source {
  void* callback_data;
  CallbackFunctions* callback_functions;
  const void* source_functions;
  uint32_t references;
  void* context;
  int32_t priority;
  uint32_t flags;
  uint32_t id;
  void* descriptors;
  Source* previous;
  Source* next;
  const char* name;
};
constexpr uint32_t kIsInCall = 1 << 1;

constinit std::atomic<Getter*> g_next_get{nullptr};
constinit std::atomic<void (*)(void* data)> g_next_unref{nullptr};
constinit std::atomic<Source* (*)()> g_current_source{nullptr};
constinit std::atomic<bool> g_is_tried{false};

// With the context's lock held.
void Get(void* data, Source* source, void** function, void** user_data) {
  g_next_get.load(std::memory_order_acquire)(data, source, function,
                                             user_data);  // pairs with FollowSources()
  HookedThread& thread = t_waits;
  if (!HasTags(thread)) return;
  // Others ask for callbacks in search of a source, which is not called then, or has been called.
  if ((source->flags & kIsInCall) == 0 || source == g_current_source.load(std::memory_order_relaxed)())
    return;
  const char* tag = nullptr;
  if (source->name != nullptr && std::string_view(source->name) != "GIdleSource") {
    const std::string_view name = source->name;
    tag = g_tag_texts.Find(base::HashBytes(name), name, {}, {});
  }
  if (tag == nullptr && function != nullptr && *function != nullptr)
    tag = reinterpret_cast<const char*>(reinterpret_cast<uint64_t>(*function) | watchdog::kFunctionTagBits);
  thread.source = source;
  thread.source_callback = data;
  // Else the dispatch would keep the tag of the source before.
  Rename(thread, tag != nullptr ? tag : thread.wait_name);
}

// After that dispatch, and whenever a source loses its callback, which it may do in its dispatch. The sources
// that follow may have none, as GDK's for events: they have no tag. A dispatch that is kept keeps its own.
void Unref(void* data) {
  g_next_unref.load(std::memory_order_acquire)(data);  // pairs with FollowSources()
  HookedThread& thread = t_waits;
  if (thread.source_callback != data || !HasTags(thread) ||
      thread.source == g_current_source.load(std::memory_order_relaxed)())
    return;
  thread.source_callback = nullptr;
  if (!thread.loop->probe.IsKeptAt(base::ReadTicks())) Rename(thread, thread.wait_name);
}

template <typename Function>
Function* AsFunction(const void* address) {
  return reinterpret_cast<Function*>(const_cast<void*>(address));
}

int Nothing(void*) { return 0; }

}  // namespace

void FollowSources() {
  if (g_is_tried.load(std::memory_order_relaxed) || g_is_tried.exchange(true)) return;
  const LoadedFunction create = FindLoaded("g_timeout_source_new");
  const void* set_callback = FindLoaded("g_source_set_callback").address;
  const void* unref = FindLoaded("g_source_unref").address;
  const void* current = FindLoaded("g_main_current_source").address;
  if (create.address == nullptr || set_callback == nullptr || unref == nullptr || current == nullptr ||
      std::string_view(create.library) != "libglib-2.0.so.0") {
    return;
  }
  g_current_source.store(AsFunction<Source*()>(current));
  Source* source = AsFunction<Source*(uint32_t)>(create.address)(0);
  using Callback = int(void*);
  using SetCallback = void(Source*, Callback*, void*, void (*)(void*));
  AsFunction<SetCallback>(set_callback)(source, &Nothing, nullptr, nullptr);
  CallbackFunctions* functions = source->callback_functions;
  const auto place = reinterpret_cast<uintptr_t>(functions);
  if (place >= create.writable_begin && place + sizeof *functions <= create.writable_end &&
      functions->get != nullptr && functions->unref != nullptr) {
    g_next_get.store(functions->get, std::memory_order_release);
    g_next_unref.store(functions->unref, std::memory_order_release);
    __atomic_store_n(&functions->unref, &Unref, __ATOMIC_RELEASE);
    __atomic_store_n(&functions->get, &Get, __ATOMIC_RELEASE);
  }
  AsFunction<void(Source*)>(unref)(source);
}

}  // namespace lagwatch::sdk
