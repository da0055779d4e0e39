// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collector/sentry/hang.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(HangTimeTest, IsSaidInWords) {
  EXPECT_EQ(FindHangTime("App hanging for at least 2000 ms."), (HangTime{2000 * kMs}));
  EXPECT_EQ(FindHangTime("App hung for at least 5234 ms."), (HangTime{5234 * kMs}));
  EXPECT_EQ(FindHangTime("Background ANR for at least 5000 ms."), (HangTime{5000 * kMs}));
  EXPECT_EQ(FindHangTime("Event Loop Blocked for at least 1000 ms"), (HangTime{1000 * kMs}));
  EXPECT_EQ(FindHangTime("blocked the main thread for at least 3 seconds."), (HangTime{3000 * kMs}));
}

TEST(HangTimeTest, IsKnownOnceItIsOver) {
  EXPECT_EQ(FindHangTime("App hung for 2150 ms."), (HangTime{2150 * kMs, 2150 * kMs}));
  EXPECT_EQ(FindHangTime("App hanging between 2.0 and 2.5 seconds."), (HangTime{2000 * kMs, 2500 * kMs}));
  EXPECT_EQ(FindHangTime("App hanging for 2 to 2.5 seconds"), (HangTime{2000 * kMs, 2500 * kMs}));
}

TEST(HangTimeTest, IsNotThereWhereNoUnitIs) {
  for (const char* text : {"", "ANR", "error 17", "99", "5000 msgs", "1e999 ms", "999999999999999999999999 s",
                           "5000000000 seconds", "9.9.9", "between 2 and", "v5ms"})
    EXPECT_EQ(FindHangTime(text), std::nullopt) << text;
}

}  // namespace
}  // namespace lagwatch::collector
