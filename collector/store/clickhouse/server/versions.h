// SPDX-License-Identifier: Apache-2.0
// The column `ver` of rows, and the numbers of batches. Thread-safe. Context: background.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/uuid.h"

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

  // Of this process: random.
  int64_t collector() const { return collector_; }
  int64_t NextBatch() { return ++batches_; }

 private:
  static int64_t Random() {
    const base::Uuid id = base::CreateUuidV7(0);
    int64_t number = 0;
    for (size_t i = 9; i < 16; ++i) number = number << 8 | id.bytes[i];
    return number;
  }

  const int64_t collector_ = Random();
  std::atomic<int64_t> batches_{0};
  std::atomic<int64_t> last_{0};
};

}  // namespace lagwatch::collector
