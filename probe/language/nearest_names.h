// SPDX-License-Identifier: Apache-2.0
// The end of a message about a name that does not exist: the names that were perhaps meant. Context:
// background.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::probe {

// Insertions, deletions and replacements of one letter, and exchanges of two neighbours (optimal string
// alignment).
inline size_t Distance(std::string_view one, std::string_view other) {
  std::vector<std::vector<size_t>> rows(one.size() + 1, std::vector<size_t>(other.size() + 1));
  for (size_t i = 0; i <= one.size(); ++i) {
    for (size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const size_t replaced = rows[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[one.size()][other.size()];
}

// ": did you mean A or B?", or ": there are A, B, …" if none is near; empty without names.
inline std::string NearestNames(std::string_view name, std::vector<std::string> names) {
  const std::string_view begin = name.substr(0, 64);
  const auto distance = [&](const std::string& other) { return Distance(begin, other); };
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::ranges::stable_sort(names, {}, distance);
  std::string text;
  const size_t near = std::max<size_t>(1, name.size() / 3);
  const auto is_far = [&](const std::string& other) { return distance(other) > near; };
  const auto far = std::ranges::find_if(names, is_far);
  if (far != names.begin()) {
    for (auto found = names.begin(); found != far && found != names.begin() + 3; ++found) {
      text += (text.empty() ? ": did you mean " : " or ") + *found;
    }
    return text + '?';
  }
  std::ranges::sort(names);
  for (const std::string& other : names) text += (text.empty() ? ": there are " : ", ") + other;
  return text;
}

}  // namespace lagwatch::probe
