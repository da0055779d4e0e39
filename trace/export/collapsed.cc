// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "trace/export/export.h"
#include "trace/export/timeline.h"
#include "trace/model/functions.h"
#include "trace/model/weights.h"

namespace lagwatch::trace {

std::string CollapsedStacks(const Trace& trace, const SliceOptions& options) {
  std::vector<std::string> names;  // of frames
  for (const NamedFrame& frame : trace.frames) names.push_back(OneLine(DisplayPlace(trace, frame)));
  for (std::string& name : names) std::replace(name.begin(), name.end(), ';', ',');

  const StackWeights weights = WeighStacks(trace, options);
  std::map<std::string, int64_t> time_by_line;
  std::vector<uint32_t> path;
  for (const StackTime& weighted : weights.stacks) {
    if (weighted.time_ns <= 0) continue;
    std::string line = ThreadName(trace.threads[weighted.thread]);
    std::replace(line.begin(), line.end(), ';', ',');
    FindPath(weights.nodes, trace.frames.size(), weighted.stack, &path);
    for (uint32_t node : path) line.append(";").append(names[weights.nodes[node].frame]);
    time_by_line[line] += weighted.time_ns;
  }
  std::string lines;
  for (const auto& [line, time_ns] : time_by_line) {
    lines.append(line).append(" ");
    AppendNumber(time_ns, &lines);
    lines += '\n';
  }
  return lines;
}

}  // namespace lagwatch::trace
