// SPDX-License-Identifier: Apache-2.0
#include "collector/sketches/duration_sketch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "collector/sketches/varint.h"

namespace lagwatch::collector {
namespace {

constexpr double kBucketsPerDoubling = 32;
constexpr double kNsPerUs = 1e3;

int64_t BucketOf(int64_t duration_ns) {
  const double us = std::max(1.0, static_cast<double>(duration_ns) / kNsPerUs);
  return std::lround(std::log2(us) * kBucketsPerDoubling);
}

int64_t DurationOf(int64_t bucket) {
  return std::llround(std::exp2(static_cast<double>(bucket) / kBucketsPerDoubling) * kNsPerUs);
}

}  // namespace

void DurationSketch::Add(int64_t duration_ns, int64_t count) {
  AddTo(is_condensed_ ? BucketOf(duration_ns) : duration_ns, count);
}

void DurationSketch::Add(const DurationSketch& other) {
  if (other.is_condensed_ && !is_condensed_) Condense();
  if (other.is_condensed_ == is_condensed_) return Merge(other.counts_);
  Counts buckets;
  for (const auto& [duration_ns, count] : other.counts_) {
    const int64_t bucket = BucketOf(duration_ns);
    if (!buckets.empty() && buckets.back().first == bucket) {
      buckets.back().second += count;
    } else {
      buckets.emplace_back(bucket, count);
    }
  }
  Merge(buckets);
}

void DurationSketch::AddTo(int64_t key, int64_t count) {
  const auto at = std::ranges::lower_bound(counts_, key, {}, &Counts::value_type::first);
  if (at == counts_.end() || at->first != key) {
    if (count != 0) counts_.insert(at, {key, count});
  } else if ((at->second += count) == 0) {
    counts_.erase(at);
  }
  if (!is_condensed_ && counts_.size() > kMostExact) Condense();
}

void DurationSketch::Merge(const Counts& other) {
  Counts both;
  both.reserve(counts_.size() + other.size());
  std::ranges::merge(counts_, other, std::back_inserter(both), {}, &Counts::value_type::first,
                     &Counts::value_type::first);
  counts_.clear();
  for (const auto& [key, count] : both) {
    if (!counts_.empty() && counts_.back().first == key) {
      counts_.back().second += count;
    } else {
      counts_.emplace_back(key, count);
    }
  }
  std::erase_if(counts_, [](const auto& each) { return each.second == 0; });
  if (!is_condensed_ && counts_.size() > kMostExact) Condense();
}

void DurationSketch::Condense() {
  is_condensed_ = true;
  for (const auto& [duration_ns, count] : std::exchange(counts_, {})) AddTo(BucketOf(duration_ns), count);
}

int64_t DurationSketch::PercentileNs(int percent) const {
  int64_t all = 0;
  for (const auto& [key, count] : counts_) all += count;
  int64_t rank = (all * percent + 99) / 100;
  for (const auto& [key, count] : counts_) {
    rank -= count;
    if (rank <= 0) return is_condensed_ ? DurationOf(key) : key;
  }
  return 0;
}

double DurationSketch::SumOfSquares() const {
  constexpr double kNsPerS = 1e9;
  double sum = 0;
  for (const auto& [key, count] : counts_) {
    const double s = static_cast<double>(is_condensed_ ? DurationOf(key) : key) / kNsPerS;
    sum += static_cast<double>(count) * s * s;
  }
  return sum;
}

void DurationSketch::AppendTo(std::string* bytes) const {
  AppendVarint(counts_.size() << 1 | (is_condensed_ ? 1 : 0), bytes);
  for (const auto& [key, count] : counts_) {
    AppendVarint(static_cast<uint64_t>(key), bytes);
    AppendVarint(ZigZag(count), bytes);
  }
}

bool DurationSketch::TakeFrom(std::string_view* bytes) {
  counts_.clear();
  uint64_t size = 0;
  if (!TakeVarint(bytes, &size)) return false;
  is_condensed_ = (size & 1) != 0;
  for (uint64_t i = 0; i < size >> 1; ++i) {
    uint64_t key = 0;
    uint64_t count = 0;
    if (!TakeVarint(bytes, &key) || !TakeVarint(bytes, &count)) return false;
    counts_.emplace_back(static_cast<int64_t>(key), UnZigZag(count));
  }
  return std::ranges::is_sorted(counts_, std::less_equal(), &Counts::value_type::first);
}

}  // namespace lagwatch::collector
