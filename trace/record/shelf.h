// SPDX-License-Identifier: Apache-2.0
// What the parts of a recorder share.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "trace/record/arena.h"
#include "trace/record/stack_table.h"
#include "trace/record/thread_book.h"

namespace lagwatch::trace {

struct Shelf {
  Arena* arena;
  std::mutex* stack_mutex;  // of `stacks`; held for a moment only
  StackTable* stacks;
  ThreadBook* threads;
  // How many ticks an interval's millisecond has; 0 as long as that is not known.
  const std::atomic<uint64_t>* ticks_per_ms;
};

// Of a sample as threads write it who keep no table of stacks: what is told besides its program counters.
inline constexpr uint64_t kRawSampleBytes = 76;

}  // namespace lagwatch::trace
