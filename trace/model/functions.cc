// SPDX-License-Identifier: Apache-2.0
#include "trace/model/functions.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace lagwatch::trace {

std::vector<uint32_t> FunctionNumbers(const Trace& trace) {
  std::map<std::tuple<uint32_t, uint64_t, std::string_view>, uint32_t> numbers;
  std::vector<uint32_t> functions;
  functions.reserve(trace.frames.size());
  for (const NamedFrame& frame : trace.frames) {
    uint64_t start = frame.function_offset;
    if (start == 0 && frame.name.empty()) start = frame.offset;
    const auto number = static_cast<uint32_t>(numbers.size());
    functions.push_back(
        numbers.try_emplace({frame.module, start, std::string_view(frame.name)}, number).first->second);
  }
  return functions;
}

void FindPath(const std::vector<StackNode>& nodes, size_t frame_count, uint32_t node,
              std::vector<uint32_t>* path) {
  path->clear();
  while (node < nodes.size()) {
    if (nodes[node].frame < frame_count) path->push_back(node);
    if (nodes[node].parent >= node) break;
    node = nodes[node].parent;
  }
  std::reverse(path->begin(), path->end());
}

}  // namespace lagwatch::trace
