// SPDX-License-Identifier: Apache-2.0
// The watched time of a program, and its hangs: the parts of hang rates. Context: any; pure.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lagwatch::policies {

// A histogram of durations. Bucket 0 has those of up to 1 ms, bucket k those from 2^(k-1) ms on and below 2^k
// ms, the last one all that are longer: from 16.4 s on.
struct DurationHistogram {
  static constexpr size_t kBuckets = 16;

  std::array<uint64_t, kBuckets> counts{};

  // Both in the same unit.
  static constexpr size_t BucketOf(uint64_t duration, uint64_t millisecond) {
    uint64_t ms = duration / std::max<uint64_t>(millisecond, 1);
    return std::min<size_t>(static_cast<size_t>(std::bit_width(ms)), kBuckets - 1);
  }
  static constexpr uint64_t FirstMsOf(size_t bucket) { return bucket == 0 ? 0 : uint64_t{1} << (bucket - 1); }

  bool operator==(const DurationHistogram&) const = default;
};

// A part of the use of one loop, or of several: of the time in which the application was in the background,
// or a value of its own was set. A hang is in the part in which it was found.
struct UsagePart {
  int64_t watched_ns = 0;
  uint64_t hangs = 0;
  int64_t hang_ns = 0;

  bool operator==(const UsagePart&) const = default;
};

// Of one loop, or of several together.
struct LoopUsage {
  int64_t watched_ns = 0;            // the loop was there, and the process was neither stopped nor suspended
  uint64_t dispatches = 0;           // that have ended
  uint64_t untimed_dispatches = 0;   // of them, those of which only the number is known
  uint64_t hangs = 0;                // dispatches and busy stretches that were found over the threshold
  int64_t hang_ns = 0;               // their whole durations, as far as they were watched
  DurationHistogram durations = {};  // of the timed dispatches
  UsagePart background = {};         // of watched_ns, hangs and hang_ns

  bool operator==(const LoopUsage&) const = default;
};

// Dispatches of one tag that were slow, but no hangs.
struct SlowDispatches {
  uint64_t count = 0;
  int64_t total_ns = 0;
  int64_t longest_ns = 0;
  DurationHistogram durations = {};

  bool operator==(const SlowDispatches&) const = default;
};

// The reason why a hang was not reported. Persisted: numbers are never reused.
enum class SuppressedReason : uint8_t {
#define SUPPRESSED_REASON(number, enumerator, ...) enumerator = number,
#include "policies/report_enums.def"
};
inline constexpr size_t kSuppressedReasons = 0
#define SUPPRESSED_REASON(...) +1
#include "policies/report_enums.def"
    ;
// By the reason's number.
using SuppressedCounts = std::array<uint64_t, kSuppressedReasons>;

// "unchanged-stack" …, as in JSON.
std::string_view SuppressedReasonName(SuppressedReason reason);

}  // namespace lagwatch::policies
