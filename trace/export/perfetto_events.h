// SPDX-License-Identifier: Apache-2.0
// Events and counters that were seen in a process, as a Perfetto trace. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trace/model/trace.h"

namespace lagwatch::trace {

// Shown as arguments of an event, in the order given.
using EventArgument = std::pair<std::string, std::variant<int64_t, uint64_t, double, std::string>>;

struct ThreadEvent {
  int32_t tid = 0;
  int64_t begin_ns = 0;  // CLOCK_MONOTONIC
  int64_t end_ns = 0;    // equal to the beginning: an instant
  std::string name;
  std::vector<EventArgument> arguments;
};

struct NamedCounter {
  std::string name;
  bool is_time = false;                            // the values are nanoseconds
  std::vector<std::pair<int64_t, double>> values;  // CLOCK_MONOTONIC, ascending
};

// `header` has the process, the clocks, the names of threads (others go by their numbers) and the losses.
// The slices of one thread nest in each other, as calls do: one that begins before a later one that it does
// not hold is shown from that one's beginning. Names may be any text.
std::string PerfettoEvents(Trace header, std::vector<ThreadEvent> events,
                           const std::vector<NamedCounter>& counters);

}  // namespace lagwatch::trace
