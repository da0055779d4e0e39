// SPDX-License-Identifier: Apache-2.0
#include "base/counter.h"

#include <gtest/gtest.h>

#include <thread>

namespace lagwatch::base {
namespace {

TEST(Counter, StartsAtZeroAndAdds) {
  Counter counter;
  EXPECT_EQ(counter.value(), 0u);
  counter.Add();
  counter.Add(41);
  EXPECT_EQ(counter.value(), 42u);
}

TEST(Counter, NeverGoesBackForAReaderOnAnotherThread) {
  constexpr uint64_t kCounts = 100'000;
  Counter counter;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kCounts; ++i) counter.Add();
  });
  uint64_t last = 0;
  while (last < kCounts) {
    uint64_t now = counter.value();
    ASSERT_GE(now, last);
    last = now;
  }
  writer.join();
  EXPECT_EQ(counter.value(), kCounts);
}

}  // namespace
}  // namespace lagwatch::base
