// SPDX-License-Identifier: Apache-2.0
// The state that the parts of a recorder share.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "trace/record/arena.h"
#include "trace/record/script_samples.h"
#include "trace/record/stack_table.h"
#include "trace/record/thread_places.h"

namespace lagwatch::trace {

struct RecorderState {
  Arena* arena;
  std::mutex* stack_mutex;  // of `stacks`; held for a moment only
  StackTable* stacks;
  ThreadPlaces* threads;
  // The number of ticks per millisecond of an interval; 0 until it is known.
  const std::atomic<uint64_t>* ticks_per_ms;
  ScriptSamples* scripts;
};

// Size of a raw sample's header, in bytes; the program counters follow it. Threads without a stack table
// write such samples.
inline constexpr uint64_t kRawSampleBytes = 76;

}  // namespace lagwatch::trace
