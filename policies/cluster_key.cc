// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster_key.h"

#include <algorithm>
#include <cstdio>

#include "base/hash.h"

namespace lagwatch::policies {

base::Result<WaitFrames> WaitFrames::Parse(std::string_view text) {
  WaitFrames frames;
  int line_number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    line = line.substr(0, std::min(line.find('#'), line.size()));
    size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    size_t star = line.find('*');
    if (star == std::string_view::npos) {
      frames.names_.emplace_back(line);
    } else if (star == line.size() - 1 && star > 0) {
      frames.prefixes_.emplace_back(line.substr(0, star));
    } else {
      return base::Status(base::StatusCode::kInvalid, "line " + std::to_string(line_number) +
                                                          ": '*' may stand only at the end of a name");
    }
  }
  std::sort(frames.names_.begin(), frames.names_.end());
  return frames;
}

bool WaitFrames::Contains(std::string_view function) const {
  if (std::binary_search(names_.begin(), names_.end(), function)) return true;
  return std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& prefix) { return function.starts_with(prefix); });
}

std::vector<std::string> InnermostSignificant(std::span<const std::string> functions, size_t count,
                                              const WaitFrames& wait_frames) {
  size_t first = 0;
  while (first < functions.size() && wait_frames.Contains(functions[first])) ++first;
  if (first == functions.size()) first = 0;
  std::span<const std::string> rest = functions.subspan(first);
  rest = rest.first(std::min(count, rest.size()));
  return {rest.begin(), rest.end()};
}

std::string ClusterKey(int level, std::span<const std::string> frames) {
  uint64_t hash = base::HashWord(static_cast<uint64_t>(level), base::kFnvOffsetBasis);
  for (const std::string& frame : frames) hash = base::HashBytes("\n", base::HashBytes(frame, hash));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace lagwatch::policies
