// SPDX-License-Identifier: Apache-2.0
// Records and aggregates of an armed script, kept for a Perfetto trace. Context: background.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "probe/program.h"
#include "probe/show/formats.h"
#include "probe/show/results.h"
#include "trace/export/perfetto_events.h"

namespace lagwatch::tools {

class PerfettoRecording {
 public:
  // Borrows `program`.
  PerfettoRecording(pid_t pid, const probe::Program& program);

  // A record with a duration is a slice that ends with it, on its thread; any other one is an instant.
  void AddRecord(const probe::Record& record, const probe::AddressNamer& namer);
  // Values of one moment; a track for each key but those with stacks.
  void AddAggregate(int64_t mono_ns, const probe::Aggregate& aggregate, const probe::AggregateResult& result,
                    const probe::AddressNamer& namer);
  // The whole file. `losses` are those of the script itself.
  std::string Text(std::vector<trace::Loss> losses) const;

 private:
  trace::NamedCounter* CounterFor(const probe::Aggregate& aggregate, const std::string& key);

  const pid_t pid_;
  const probe::Program& program_;
  std::vector<std::string> names_;  // of slices, by the index of their print
  trace::Trace header_;
  std::vector<trace::ThreadEvent> events_;
  std::vector<trace::NamedCounter> counters_;
  std::map<std::string, size_t> counter_numbers_;  // by name
  uint64_t left_out_ = 0;                          // records and values for which there is no room
};

}  // namespace lagwatch::tools
