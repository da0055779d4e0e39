// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_limits.h"

#include <gtest/gtest.h>

#include <thread>

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
constexpr Thresholds kOthers{2000 * kNsPerMs, 5000 * kNsPerMs};

TEST(LoopLimits, AreTheOthersUntilTheLoopHasItsOwn) {
  LoopLimits limits;
  EXPECT_EQ(limits.ThresholdsOr(kOthers), kOthers);
  EXPECT_EQ(limits.weight(), 0u);
  limits.SetThresholds({30 * kNsPerMs, 60 * kNsPerMs});
  EXPECT_EQ(limits.ThresholdsOr(kOthers), (Thresholds{30 * kNsPerMs, 60 * kNsPerMs}));
  limits.Reset();
  EXPECT_EQ(limits.ThresholdsOr(kOthers), kOthers);
}

TEST(LoopLimits, BringValuesIntoTheirRangeAndSayWhatIsInForce) {
  LoopLimits limits;
  EXPECT_EQ(limits.SetThresholds({0, 0}), (Thresholds{16 * kNsPerMs, 0}));
  EXPECT_EQ(limits.SetThresholds({-1, 1}), (Thresholds{16 * kNsPerMs, 16 * kNsPerMs}));
  EXPECT_EQ(limits.SetThresholds({INT64_MAX, 5}), (Thresholds{3'600'000 * kNsPerMs, 3'600'000 * kNsPerMs}));
  EXPECT_EQ(limits.SetThresholds({100 * kNsPerMs, 50 * kNsPerMs}),
            (Thresholds{100 * kNsPerMs, 100 * kNsPerMs}));
  EXPECT_EQ(limits.ThresholdsOr(kOthers), (Thresholds{100 * kNsPerMs, 100 * kNsPerMs}));
}

// A reader never gets the first of one pair and the second of another.
TEST(LoopLimits, ChangeAsAPair) {
  LoopLimits limits;
  std::atomic<bool> is_enough{false};
  std::thread setter([&] {
    for (int64_t i = 0; !is_enough.load(); ++i) {
      int64_t ns = (20 + i % 1000) * kNsPerMs;
      limits.SetThresholds({ns, 2 * ns});
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    Thresholds thresholds = limits.ThresholdsOr({1, 2});
    EXPECT_EQ(thresholds.anr_threshold_ns, 2 * thresholds.threshold_ns);
  }
  is_enough = true;
  setter.join();
}

}  // namespace
}  // namespace lagwatch::watchdog
