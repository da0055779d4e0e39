// SPDX-License-Identifier: Apache-2.0
// The preloaded library's state of each thread, and of the process as far as the hooks look at it.
#pragma once

#include <atomic>
#include <cstdint>

#include "sdk/preload/watch/thread_choice.h"
#include "sdk/waits/object_home.h"
#include "sdk/waits/wait_home.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

// Whether a thread's waits that poll nothing are looked at, for a loop.
enum class ObjectRole : uint8_t {
  kUnknown,
  kLearns,
  kNever,  // it is not to be watched by them
};

// All zero at first.
struct HookedThread {
  watchdog::WatchedLoop* loop = nullptr;
  uint32_t attaches = 0;      // WaitSwitches::attaches, when the other members were last cleared
  uint32_t generation = 0;    // of the loop's place, while it is this thread's
  uintptr_t busy_frame = 0;   // of the BeginWait or EndWait that has set is_busy
  int looks_left = 0;         // at a thread that is not watched (yet)
  int skipped_waits = 0;      // since is_busy was found set
  bool is_known = false;      // the members above are set
  bool is_busy = false;       // the thread is in BeginWait or EndWait
  bool is_candidate = false;  // as of thread_choice.h
  bool is_chosen = false;     // likewise, and watched
  // A child that shares this memory, or a copy of it, and was made without fork handlers confines itself: its
  // end makes no system call of ours.
  bool is_in_confined_child = false;
  ObjectRole object_role = ObjectRole::kUnknown;
  uint8_t short_reads = 0;  // in a row
  CandidateWaits candidate;
  WaitHome home;
  ObjectHome objects;
  const char* wait_name = nullptr;  // of the wait before the dispatch
  const char* event_tag = nullptr;  // of the innermost event of Qt that is being handled
  // The source of GLib that was dispatched last, and what its callback is kept by: addresses only.
  const void* source = nullptr;
  const void* source_callback = nullptr;
};
// Initial-exec: no call and no allocation at the first access.
extern constinit thread_local HookedThread t_waits __attribute__((tls_model("initial-exec")));

// State of the process. Context: hot.
struct WaitSwitches {
  // The hooks only forward their calls: until this library's constructor, or from some time on for good.
  std::atomic<bool> is_off{true};
  std::atomic<bool> start_tried{false};  // this process has tried to start its monitor
  std::atomic<uint32_t> attaches{0};     // begun and ended: threads forget the state of the one before
};
extern constinit WaitSwitches g_wait_switches;

// Whether the thread's waits that poll nothing are looked at: not those of one whose loop polls. Context:
// hot.
inline bool MayLearnObjects(const HookedThread& waits) {
  if (waits.object_role == ObjectRole::kNever) return false;
  return waits.objects.has_home() || waits.home.home_frame() == 0;
}
// Whether BeginObjectWait() is needed for the calling thread, in a few loads. Context: hot.
inline bool NeedsObjectWaits() {
  // Relaxed: a thread that learns of it one wait later is as good.
  return t_waits.attaches != g_wait_switches.attaches.load(std::memory_order_relaxed) ||
         MayLearnObjects(t_waits);
}

// Before and after a wait on the calling thread, in thread_waits.cc. `name` is the wait's, a literal: it
// becomes the tag of the dispatch that follows. Keep errno. Context: hot after a thread's first waits.
void BeginWait(const WaitCall& call);
void EndWait(const WaitCall& call, const char* name, bool succeeded);

// The same for a wait that polls nothing; `until`: the time at which it ends, or null. False if
// EndObjectWait() is not needed.
bool BeginObjectWait(const ObjectCall& call, const timespec* until = nullptr);
void EndObjectWait(const ObjectCall& call, const char* name);

}  // namespace lagwatch::sdk
