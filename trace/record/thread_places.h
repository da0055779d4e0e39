// SPDX-License-Identifier: Apache-2.0
// The recorded threads' places in the arena: the thread of each place, and its present run.
#pragma once

#include <cstdint>

#include "base/process/mapped_array.h"
#include "trace/record/arena.h"

namespace lagwatch::trace {

// Thread safety: Take and Release from one thread (the recorder's); the run of a place from its sampler only.
class ThreadPlaces {
 public:
  static constexpr uint32_t kNoPlace = UINT32_MAX;

  // `arena` is borrowed. Context: background.
  explicit ThreadPlaces(Arena* arena);
  bool ok() const { return !is_taken_.empty() || capacity_ == 0; }

  // A place for the thread; kNoPlace, counted, if all are taken. Places of ended threads are reused, the
  // longest unused one first. Context: watchdog.
  uint32_t Take(int32_t tid);
  // The place's thread has ended; name and tid stay until another thread takes the place. Context: watchdog.
  void Release(uint32_t place) { is_taken_[place] = 0; }
  // Threads give themselves names after they have begun. Context: watchdog (a small file of /proc).
  void RefreshName(uint32_t place);

  // The run under way, to be changed through SetOpen() only. Context: watchdog.
  const OpenRun& open(uint32_t place) const { return arena_->threads()[place].open; }
  int32_t tid(uint32_t place) const { return arena_->threads()[place].tid; }
  void SetOpen(uint32_t place, const OpenRun& run);

 private:
  Arena* arena_;
  uint32_t capacity_;
  uint32_t next_ = 0;
  base::MappedArray<uint8_t> is_taken_;
};

// A consistent copy of a place; false when it was never used, or is written all the
// time. Context: background.
struct ThreadCopy {
  int32_t tid;
  char name[ArenaThread::kMaxNameBytes];
  OpenRun open;
};
bool CopyThread(const ArenaThread& thread, ThreadCopy* copy);

}  // namespace lagwatch::trace
