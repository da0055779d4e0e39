// SPDX-License-Identifier: Apache-2.0
// A compact distribution of durations: exact up to 32 different ones, then counts of logarithmic
// buckets, 32 per doubling, so that a percentile is right within 1.1 %. Sketches of parts add up to
// that of the whole, and a part may be subtracted again. After DDSketch (Masson, Rim, Lee: DDSketch,
// VLDB 2019). Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lagwatch::collector {

class DurationSketch {
 public:
  static constexpr size_t kMostExact = 32;

  // `count` may be negative: that many are taken out.
  void Add(int64_t duration_ns, int64_t count);
  void Add(const DurationSketch& other);

  // The nearest-rank percentile, 0 < percent <= 100; 0 when it is empty.
  int64_t PercentileNs(int percent) const;

  // The sum of the durations' squares, in s².
  double SumOfSquares() const;

  bool operator==(const DurationSketch&) const = default;

  // Part of the on-disk format.
  void AppendTo(std::string* bytes) const;
  // Takes what AppendTo wrote off the front; false when it is something else.
  bool TakeFrom(std::string_view* bytes);

 private:
  using Counts = std::vector<std::pair<int64_t, int64_t>>;

  void AddTo(int64_t key, int64_t count);
  void Merge(const Counts& other);
  void Condense();

  bool is_condensed_ = false;
  Counts counts_;  // by bucket when it is condensed, else by nanoseconds; in their order, and none is 0
};

}  // namespace lagwatch::collector
