// SPDX-License-Identifier: Apache-2.0
// Results as text, JSON lines, StatsD, the text format of Prometheus, and folded stacks. Context: background.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "probe/program.h"
#include "probe/show/results.h"

namespace lagwatch::probe {

// Names an address: "dictFind+0x12 (redis-server)". Never empty.
using AddressNamer = std::function<std::string(uint64_t address)>;

// A table or histograms, with a head line; ends with a line end.
std::string AsText(const Aggregate& aggregate, const AggregateResult& result, const AddressNamer& namer);
std::string AsText(const Program& program, const Record& record, const AddressNamer& namer);

// One object a line: {"aggregate": NAME, "key": {…}, "count": …} and {"time_ns": …, "tid": …, "values": {…}}.
// Durations are numbers of nanoseconds, stacks arrays of names.
std::string AsJsonLines(const Aggregate& aggregate, const AggregateResult& result, const AddressNamer& namer);
std::string AsJsonLine(const Program& program, const Record& record, const AddressNamer& namer);

// Lines "lagwatch.NAME.KEY:VALUE|g" (gauges); parts of a key without a name's letters have `_` in their
// place.
std::string AsStatsd(const Aggregate& aggregate, const AggregateResult& result, const AddressNamer& namer);

// The text format, version 0.0.4: gauges, and histograms with cumulative buckets.
std::string AsPrometheus(const Aggregate& aggregate, const AggregateResult& result,
                         const AddressNamer& namer);

// "outermost;…;innermost COUNT" a line, for flame graphs; empty if no part of the key is a stack.
std::string AsFoldedStacks(const Aggregate& aggregate, const AggregateResult& result,
                           const AddressNamer& namer);

}  // namespace lagwatch::probe
