// SPDX-License-Identifier: Apache-2.0
// All threads of the process with their stacks, for a report. Context: watchdog; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "stack/stack_capturer.h"
#include "watchdog/hang_sink.h"

namespace lagwatch::watchdog {

class ThreadLister {
 public:
  // Context: background; allocates the room for `max_threads`.
  explicit ThreadLister(int32_t max_threads);

  // Captures all threads but the caller. The watched one comes first, with the stack that is already known of
  // it.
  void Capture(int32_t watched_tid, const stack::Stack& watched_stack, stack::StackCapturer* capturer);
  std::span<const ThreadSnapshot> threads() const { return {threads_.get(), count_}; }
  // Threads that found no room, or for which there was no time, in the last Capture().
  uint32_t dropped_count() const { return dropped_count_; }

 private:
  // Null when there is no more room.
  ThreadSnapshot* Add(int32_t tid);

  size_t capacity_;
  std::unique_ptr<ThreadSnapshot[]> threads_;
  size_t count_ = 0;
  uint32_t dropped_count_ = 0;
};

}  // namespace lagwatch::watchdog
