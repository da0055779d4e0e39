// SPDX-License-Identifier: Apache-2.0
// Converts an arena to a trace, while it is written or afterwards, in the recorded process or in another
// one. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trace/model/trace.h"
#include "trace/record/arena.h"

namespace lagwatch::trace {

// Times as in the trace.
struct Window {
  int64_t begin_ns = INT64_MIN;
  int64_t end_ns = INT64_MAX;
};

// All that overlaps the window. Frames have no names yet. Threads without anything in it are left out, and
// stacks, frames and modules that nothing needs.
Trace ReadArena(const Arena& arena, const Window& window = {});

// Reads an arena again and again while it is written to. Blocks of which nothing lies in the window, as it
// found before, are not read again, and blocks that made room are no loss.
class ArenaFollower {
 public:
  // `arena` is borrowed.
  explicit ArenaFollower(const Arena& arena) : arena_(&arena) {}
  // As ReadArena().
  Trace Read(const Window& window);

  // The contents of a block.
  struct Seen {
    BlockPool::Fill fill;
    int64_t last_end_ns = INT64_MAX;
  };
  struct Memory {
    std::vector<Seen> main_blocks;
    std::vector<Seen> worker_blocks;
  };

 private:
  const Arena* arena_;
  Memory memory_;
};

// The places in the trace that ReadCalls() adds to.
struct CallPlaces {
  std::function<uint32_t(uint32_t)> module;   // the trace's index of the arena's module
  std::function<Thread&(int32_t)> thread_of;  // by tid
};

// A part of ReadArena(), in call_reader.cc: adds the instrumented calls within the window to the threads, and
// the functions to trace->frames.
void ReadCalls(const Arena& arena, const Window& window, const CallPlaces& places, Trace* trace);

}  // namespace lagwatch::trace
