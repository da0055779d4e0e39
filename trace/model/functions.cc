// SPDX-License-Identifier: Apache-2.0
#include "trace/model/functions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <tuple>

#include "base/hash.h"

namespace lagwatch::trace {

std::string_view NameOf(CallKind call) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "",      "allocation", "mutex", "read-write lock", "condition", "semaphore", "barrier",
      "join",  "futex",      "file",  "socket",          "poll",      "sleep",     "load library",
      "clock", "user"};
  const auto index = static_cast<size_t>(call);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

std::string DisplayName(const Trace& trace, const NamedFrame& frame) {
  if (!frame.name.empty()) return frame.name;
  char offset[2 + 16 + 1];
  std::snprintf(
      offset, sizeof offset, "0x%llx",
      static_cast<unsigned long long>(frame.function_offset != 0 ? frame.function_offset : frame.offset));
  if (frame.module >= trace.modules.size()) return offset;
  const std::string& path = trace.modules[frame.module].path;
  return path.substr(path.rfind('/') + 1).append("+").append(offset);
}

namespace {

// Scripts' functions alone are named with their files.
bool IsScript(const NamedFrame& frame) {
  return !frame.file.empty() && frame.name.ends_with("(" + frame.file + ")");
}

}  // namespace

std::string DisplayPlace(const Trace& trace, const NamedFrame& frame) {
  std::string name = DisplayName(trace, frame);
  if (frame.line != 0 && IsScript(frame)) name.insert(name.size() - 1, ":" + std::to_string(frame.line));
  return name;
}

std::string DisplayWithLine(const Trace& trace, const NamedFrame& frame) {
  std::string name = DisplayPlace(trace, frame);
  if (frame.file.empty() || frame.line == 0 || IsScript(frame)) return name;
  return name + " (" + frame.file.substr(frame.file.rfind('/') + 1) + ":" + std::to_string(frame.line) + ")";
}

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

uint64_t StableFunctionId(std::string_view module_path, std::string_view signature) {
  constexpr std::string_view kVersionMark = ".so.";
  std::string_view module = module_path.substr(module_path.rfind('/') + 1);
  const size_t version = module.find(kVersionMark);
  if (version != std::string_view::npos) module = module.substr(0, version + kVersionMark.size() - 1);
  const uint64_t id = base::HashBytes(signature, base::HashBytes("!", base::HashBytes(module)));
  return id == 0 ? 1 : id;
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
