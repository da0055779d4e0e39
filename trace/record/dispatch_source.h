// SPDX-License-Identifier: Apache-2.0
// The recorder's source of dispatches; the recorder itself has no loops.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::trace {

// A dispatch that has ended, or one that goes on. Times are base::ReadTicks().
struct DispatchNote {
  static constexpr size_t kMaxTagBytes = 32;

  int32_t tid;
  uint32_t number;
  bool has_ended;
  uint64_t begin_ticks;
  uint64_t end_ticks;  // when it has ended
  char tag[kMaxTagBytes];
};

// Thread safety: DispatchOf from any thread, about any; the rest from one thread at a time.
class DispatchSource {
 public:
  virtual ~DispatchSource() = default;
  // The number of the dispatch that the thread is in, of which there will be a note then, however short it
  // is; 0: in none, or it has no loop. Wait-free. Context: watchdog.
  virtual uint32_t DispatchOf(int32_t tid) const = 0;
  // The next note; false when there is none for now. Of a dispatch that goes on there is one when it is first
  // seen here, and another one when it has ended. Context: watchdog.
  virtual bool TakeNote(DispatchNote* note) = 0;
  // The number of notes that were overwritten before they were read.
  virtual uint64_t forgotten_count() const = 0;
};

}  // namespace lagwatch::trace
