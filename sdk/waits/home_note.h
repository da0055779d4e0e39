// SPDX-License-Identifier: Apache-2.0
// Notes for the watchdog where a thread's loop waits: see watchdog/evidence/idle_places.h.
#pragma once

#include "sdk/waits/object_home.h"
#include "sdk/waits/wait_home.h"
#include "watchdog/evidence/idle_places.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

// Before a dispatch begins or ends, which publishes it: the store is relaxed. Context: hot.
inline void NoteMoves(const WaitHome& home, const ObjectHome& objects, watchdog::WatchedLoop* loop) {
  loop->home_moves.store(home.home_moves() + objects.moves(), std::memory_order_relaxed);
}

// To be called before a dispatch begins, which publishes it: all stores are relaxed. Context: hot.
inline void NoteHome(const WaitHome& home, const ObjectHome& objects, watchdog::WatchedLoop* loop) {
  NoteMoves(home, objects, loop);
  if (objects.has_home()) {
    // No height of the stack proves that a sleep is a handler's, only the way back.
    loop->home_frame.store(objects.home_frame(), std::memory_order_relaxed);
    loop->home_site.store(0, std::memory_order_relaxed);
    loop->home_doubtful_depth.store(watchdog::kDeepestStackBytes, std::memory_order_relaxed);
    loop->is_home_shared.store(true, std::memory_order_relaxed);
    loop->polled_descriptor.store(-1, std::memory_order_relaxed);
    loop->has_doubtful_wait.store(!objects.IsSettled(), std::memory_order_relaxed);
    return;
  }
  loop->home_frame.store(home.home_frame(), std::memory_order_relaxed);
  loop->home_site.store(home.home_site(), std::memory_order_relaxed);
  loop->home_doubtful_depth.store(home.doubtful_depth(), std::memory_order_relaxed);
  loop->is_home_shared.store(home.is_home_shared(), std::memory_order_relaxed);
  loop->polled_descriptor.store(home.only_descriptor(), std::memory_order_relaxed);
  loop->has_doubtful_wait.store(home.is_doubtful(), std::memory_order_relaxed);
}

// To be called before the end of a dispatch, which publishes it: the stores are relaxed. Context: hot.
inline void NoteHandler(const WaitHome& home, watchdog::WatchedLoop* loop) {
  if (!home.has_shown_handler()) return;
  loop->handler_since_ns.store(home.handler_since_ns(), std::memory_order_relaxed);
  const auto number = static_cast<uint32_t>(loop->probe.number_under_way());
  loop->handlers_number.store(number, std::memory_order_relaxed);
}

// After a wait that did not serve, during the dispatch. Context: hot.
inline void NoteForeignWait(const WaitHome& home, const ObjectHome& objects, watchdog::WatchedLoop* loop) {
  // Relaxed: a look that misses it finds the wait itself, or is made again.
  if (objects.has_home() ? objects.has_foreign_wait() : home.is_doubtful())
    loop->has_doubtful_wait.store(true, std::memory_order_relaxed);
}

}  // namespace lagwatch::sdk
