// SPDX-License-Identifier: Apache-2.0
// The pause before an upload is tried again: exponential backoff with full jitter
// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). Context: background; pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lagwatch::policies {

struct UploadBackoff {
  int64_t first_ms = 1'000;
  int64_t cap_ms = 3'600'000;

  // The wait after `failures` >= 1 failures in a row, at most `cap_ms`. `random` is any 64 random bits: the
  // caller's, so that this stays pure. Never zero: a collector that answers at once is still given time.
  int64_t DelayMs(int failures, uint64_t random) const {
    int doublings = std::clamp(failures - 1, 0, 30);
    int64_t ceiling_ms = std::min(cap_ms, first_ms << doublings);
    int64_t jitter_ms = static_cast<int64_t>(random % static_cast<uint64_t>(ceiling_ms));
    return std::min(cap_ms, (first_ms + 1) / 2 + jitter_ms);
  }
};

}  // namespace lagwatch::policies
