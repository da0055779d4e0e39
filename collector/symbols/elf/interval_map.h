// SPDX-License-Identifier: Apache-2.0
// Values for ranges of addresses, which may overlap. Context: background. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace lagwatch::collector {

template <typename Value>
class IntervalMap {
 public:
  // Of ranges with one begin, the one of the lowest rank counts, then the shortest. `end` is not part of it;
  // a range without a length is only at its begin.
  void Add(uint64_t begin, uint64_t end, Value value, uint8_t rank = 0) {
    entries_.push_back({begin, end, end, rank, std::move(value)});
  }

  // To be called once, after the last Add.
  void Sort() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Interval& a, const Interval& b) {
      return std::tie(a.begin, a.rank, a.end) < std::tie(b.begin, b.rank, b.end);
    });
    uint64_t reach = 0;
    for (Interval& entry : entries_) entry.reach = reach = std::max(reach, entry.end);
  }

  // The value of the range around `place` that begins last; null when there is none. Lives as long
  // as the map.
  const Value* Find(uint64_t place) const {
    auto after =
        std::upper_bound(entries_.begin(), entries_.end(), place,
                         [](uint64_t wanted, const Interval& entry) { return wanted < entry.begin; });
    const Interval* found = nullptr;
    while (after != entries_.begin()) {
      const Interval& entry = *--after;
      if (found != nullptr && entry.begin != found->begin) break;
      if (place < entry.end || place == entry.begin) found = &entry;
      if (found == nullptr && entry.reach <= place && entry.begin != place) break;
    }
    return found != nullptr ? &found->value : nullptr;
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Interval {
    uint64_t begin;
    uint64_t end;
    uint64_t reach;  // the furthest end of all entries up to this one
    uint8_t rank;
    Value value;
  };

  std::vector<Interval> entries_;
};

}  // namespace lagwatch::collector
