// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lagwatch::base {
namespace {

// The optimal string alignment distance.
size_t DistanceOf(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> steps(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      const size_t changed = steps[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      steps[i][j] = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, changed});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[a.size()][b.size()];
}

}  // namespace

std::string NearestWord(std::string_view word, std::span<const std::string> known) {
  constexpr size_t kLongest = 100;
  if (word.size() > kLongest) return "";
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  std::string nearest;
  for (const std::string& each : known) {
    if (each.size() > kLongest) continue;
    const size_t distance = DistanceOf(word, each);
    if (distance >= least) continue;
    least = distance;
    nearest = each;
  }
  return nearest;
}

}  // namespace lagwatch::base
