// SPDX-License-Identifier: Apache-2.0
// The column `ver` of rows. Thread-safe. Context: background.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace lagwatch::collector {

// Time goes up with each row of one collector; between collectors, by their clocks.
class Versions {
 public:
  // For rows of which the newest counts.
  int64_t Newest() {
    int64_t last = last_;
    int64_t next = 0;
    do {
      next = std::max(last + 1, base::SystemClock().WallMs() * 1000);
    } while (!last_.compare_exchange_weak(last, next));
    return next;
  }
  // For rows of which the first counts.
  int64_t First() { return INT64_MAX - Newest(); }

 private:
  std::atomic<int64_t> last_{0};
};

}  // namespace lagwatch::collector
