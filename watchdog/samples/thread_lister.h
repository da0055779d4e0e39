// SPDX-License-Identifier: Apache-2.0
// All threads of the process with their stacks, for a report. Threads that slept all the time since an
// earlier look keep the stack that they had then. Context: watchdog; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/process/mapped_memory.h"
#include "stack/stack_capturer.h"
#include "stack/threads/thread_state.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::watchdog {

class ThreadLister {
 public:
  // Context: background; allocates the room for `max_threads`, but touches none of it.
  explicit ThreadLister(int32_t max_threads);
  // False when there was no memory.
  bool ok() const { return records_ != nullptr; }

  // Captures all threads of the program: those of lagwatch, as the caller is one, are only counted. The
  // watched one comes first, with the stack that is already known of it. Takes little more than 200 ms at
  // most, for other loops are not looked at meanwhile. Threads that run come last, because they may not
  // answer: those that there is no time for are listed without a stack.
  void Capture(int32_t watched_tid, const stack::Stack& watched_stack, stack::StackCapturer* capturer);
  // Lists none, as of a moment that is past.
  void Clear() { count_ = dropped_count_ = reused_count_ = own_count_ = 0; }
  // Gives the listed threads that have no stack those that the look at `waits` has found. Of other processes'
  // threads none is listed.
  void AddStacks(std::span<const Wait> waits);
  std::span<const ThreadSnapshot* const> threads() const { return {listed_.get(), count_}; }
  // Of the last Capture(): threads for which there was no room or no time, and threads whose stacks are those
  // of an earlier one.
  uint32_t dropped_count() const { return dropped_count_; }
  uint32_t reused_count() const { return reused_count_; }
  // Of the last Capture(): threads of lagwatch.
  uint32_t own_count() const { return own_count_; }

 private:
  // The known facts of a thread, from one Capture() to the next.
  struct Record {
    ThreadSnapshot snapshot;
    stack::BlockedThread blocked;  // where it sleeps; left alone while it runs
    bool is_asleep;
    bool is_hidden;      // sleeps, the kernel does not say where
    bool is_stack_kept;  // the stack is that of when it had used `snapshot.cpu_ns` and slept at `blocked`
  };

  // A record's thread. Apart from the records, so that a search touches little memory.
  struct Place {
    int32_t tid;  // 0: free
    uint64_t last_look;
  };

  // Lists the thread with all but its stack. Null when there is no room.
  Record* List(int32_t tid);
  Record* FindOrTakeRecord(int32_t tid);
  // The one that was not used for longest; capacity_ when all are in use in this Capture().
  size_t FindFreePlace() const;
  // Threads of a language's own, such as goroutines.
  void CaptureScriptThreads(int32_t watched_tid, int64_t deadline_ns, stack::StackCapturer* capturer);
  void CaptureRunning(stack::StackCapturer* capturer, int64_t deadline_ns);
  void CaptureOne(stack::StackCapturer* capturer, Record* record) const;
  void ReadWaitChannelOf(Record* record) const;
  void AddStack(uint32_t tid, const stack::Stack* stack);

  base::Process process_;  // of the last Capture()
  size_t capacity_;
  base::MappedBlock<Record> records_;
  std::unique_ptr<Place[]> places_;  // of the records, by the same index
  size_t place_hint_ = 0;            // threads come in nearly the same order every time
  std::unique_ptr<const ThreadSnapshot*[]> listed_;
  std::unique_ptr<Record*[]> running_;
  uint64_t look_ = 0;  // the number of this Capture()
  size_t count_ = 0;
  size_t running_count_ = 0;
  uint32_t dropped_count_ = 0;
  uint32_t reused_count_ = 0;
  uint32_t own_count_ = 0;
};

}  // namespace lagwatch::watchdog
