// SPDX-License-Identifier: Apache-2.0
#include "trace/model/names.h"

#include <array>
#include <cstddef>
#include <cstdio>

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

}  // namespace lagwatch::trace
