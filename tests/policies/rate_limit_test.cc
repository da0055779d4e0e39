// SPDX-License-Identifier: Apache-2.0
#include "policies/upload/rate_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace lagwatch::policies {
namespace {

TEST(RateLimit, LetsTheFirstPassAtAnyTime) {
  RateLimit limit;
  limit.SetInterval(10);
  EXPECT_TRUE(limit.TryPass(3));
}

TEST(RateLimit, CountsFromTheLastThatPassed) {
  RateLimit limit;
  limit.SetInterval(10);
  EXPECT_TRUE(limit.TryPass(100));
  EXPECT_FALSE(limit.TryPass(105));
  EXPECT_FALSE(limit.TryPass(109));
  EXPECT_TRUE(limit.TryPass(110));
  EXPECT_FALSE(limit.TryPass(119));
}

TEST(RateLimit, LetsAllPassWithoutAnInterval) {
  RateLimit limit;
  EXPECT_TRUE(limit.TryPass(1));
  EXPECT_TRUE(limit.TryPass(1));
}

TEST(RateLimit, LetsOneOfManyThreadsPass) {
  RateLimit limit;
  limit.SetInterval(10);
  std::atomic<int> passed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { passed += limit.TryPass(100); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed, 1);
}

}  // namespace
}  // namespace lagwatch::policies
