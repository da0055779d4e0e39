// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/version_order.h"

#include <algorithm>

namespace lagwatch::policies {
namespace {

bool IsDecimal(char character) { return character >= '0' && character <= '9'; }

// Takes the run of digits, or of other characters, that `text` begins with.
std::string_view TakeRun(std::string_view* text) {
  size_t size = 0;
  while (size < text->size() && IsDecimal((*text)[size]) == IsDecimal(text->front())) ++size;
  const std::string_view run = text->substr(0, size);
  text->remove_prefix(size);
  return run;
}

int CompareNumbers(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

// Whether the text marks a version before the release that precedes it.
bool IsBeforeRelease(std::string_view rest) { return rest.starts_with('-') || rest.starts_with('~'); }

}  // namespace

bool IsOlderVersion(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    if (IsBeforeRelease(a) != IsBeforeRelease(b)) return IsBeforeRelease(a);
    if (a.empty() || b.empty()) return a.empty();
    const bool are_numbers = IsDecimal(a.front()) && IsDecimal(b.front());
    const std::string_view left = TakeRun(&a);
    const std::string_view right = TakeRun(&b);
    const int order = are_numbers ? CompareNumbers(left, right) : left.compare(right);
    if (order != 0) return order < 0;
  }
  return false;
}

}  // namespace lagwatch::policies
