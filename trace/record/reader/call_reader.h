// SPDX-License-Identifier: Apache-2.0
// The instrumented calls of an arena, as parts of a trace. Context: background.
#pragma once

#include <cstdint>
#include <functional>

#include "trace/model/trace.h"
#include "trace/record/arena.h"
#include "trace/record/reader/arena_reader.h"

namespace lagwatch::trace {

// The places in the trace that results are added to.
struct CallPlaces {
  std::function<uint32_t(uint32_t)> module;   // the trace's index of the arena's module
  std::function<Thread&(int32_t)> thread_of;  // by tid
};

// Adds the calls within the window to the threads, and the functions to trace->frames. Parts that the program
// named have the names of part_names.h.
void ReadCalls(const Arena& arena, const Window& window, const CallPlaces& places, Trace* trace);

}  // namespace lagwatch::trace
